"""Merge the tables of several servers into one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from shlex import quote
from typing import Any, Literal

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.network import is_loopback
from hccl_kit.base.wording import row
from hccl_kit.table.bounds import READY
from hccl_kit.table.document import shown
from hccl_kit.table.ip import parse_address
from hccl_kit.table.model import Device, PodServer, RankTable, Server, SuperPod

Order = Literal["natural", "as-given"]
VERSIONS = ("1.0", "1.2", "2.0")
"""The versions that can be merged. The servers of 2.0 are the networks of the innermost layer."""
_NUMBER = re.compile("([0-9]+)")
_DIGITS = 20
"""Numbers in names are compared as numbers up to this many digits."""


def merge(tables: Sequence[RankTable], *, names: Sequence[str] = (), order: Order = "natural") -> RankTable:
    """One table of all servers of valid tables; ranks are renumbered server by server, in their order on each server.

    Servers are in the order given, or in natural order: by address (10.0.0.2 before 10.0.0.10), then by name (node2
    before node10), grouped by super pod. Super pods with the same id are merged. Unknown keys are kept; their values
    must be equal in all tables. Raises KitError, with `names` for the tables, for a duplicate server or address, a
    loopback server id, different versions, a version that is not in VERSIONS, or a table that is not ready.

    Laws: associative; in natural order also commutative; every device keeps everything but its rank.
    """
    called = list(names) or [f"table {number}" for number in range(1, len(tables) + 1)]
    _reject_incompatible(tables, called)
    _reject_duplicates(tables, called)
    servers = [server for table in tables for server in table.servers]
    pods = _merged_pods([pod for table in tables for pod in table.super_pods or ()])
    if order == "natural":
        home = {server.id: natural(pod.id) for pod in pods for server in pod.servers}
        nowhere = natural("")
        servers.sort(key=lambda server: (home.get(server.id, nowhere), natural(server.id)))
        pods = [_in_natural_order(pod) for pod in sorted(pods, key=lambda pod: natural(pod.id))]
    has_server_count = any(table.declared_servers is not None for table in tables)
    has_rank_count = any(table.declared_ranks is not None for table in tables)
    return RankTable(
        version=tables[0].version,
        status=READY,
        servers=_renumbered(servers),
        super_pods=tuple(pods) if any(table.super_pods is not None for table in tables) else None,
        declared_servers=len(servers) if has_server_count else None,
        declared_ranks=sum(len(server.devices) for server in servers) if has_rank_count else None,
        extra=_merged_keys(
            [(name, table.extra) for name, table in zip(called, tables, strict=True)],
            Message("table.merge-keys.table", "of the table"),
        ),
    )


def file_name(table: RankTable) -> str:
    """`hccl_2s_16p.json`: the number of servers and of cards."""
    return f"hccl_{len(table.servers)}s_{table.world_size}p.json"


def is_merged(name: str) -> bool:
    """Whether a file name has the form of `file_name`: the output of an earlier merge, not to be merged again."""
    return re.fullmatch("hccl_[0-9]+s_[0-9]+p[.]json", name) is not None


def natural(text: str) -> tuple[Any, ...]:
    """A key for natural order: addresses by their number, numbers in names by their value."""
    if address := parse_address(text):
        return 0, *address[:2], text
    parts = _NUMBER.split(text)  # every second part is a number
    parts[1::2] = [number.zfill(_DIGITS) for number in parts[1::2]]
    return 1, tuple(parts), text


def _renumbered(servers: Iterable[Server]) -> tuple[Server, ...]:
    ranks = count()
    renumbered = []
    for server in servers:
        new = {device.rank: next(ranks) for device in sorted(server.devices, key=lambda device: device.rank)}
        # As `device._replace(rank=..., at=())`, in a fifth of the time.
        devices = tuple(
            [Device(d.id, d.ip, new[d.rank], d.sdid, d.local_id, d.levels, d.extra) for d in server.devices]
        )
        renumbered.append(Server(server.id, devices, server.extra))
    return tuple(renumbered)


def _merged_pods(pods: Sequence[SuperPod]) -> list[SuperPod]:
    """One super pod for each id, in order of first appearance, with the servers of all tables."""
    by_id: dict[str, list[SuperPod]] = {}
    for pod in pods:
        by_id.setdefault(pod.id, []).append(pod)
    return [
        SuperPod(
            name,
            tuple(server for pod in same for server in pod.servers),
            _merged_keys(
                [("one table", pod.extra) for pod in same],
                Message("table.merge-keys.pod", "of super pod {super_pod}", super_pod=shown(name)),
            ),
        )
        for name, same in by_id.items()
    ]


def _in_natural_order(pod: SuperPod) -> SuperPod:
    def place(server: PodServer) -> tuple[Any, ...]:
        return natural(server.id)

    return SuperPod(pod.id, tuple(sorted(pod.servers, key=place)), pod.extra)


def _merged_keys(named: Sequence[tuple[str, Mapping[str, Any]]], whose: Message) -> dict[str, Any]:
    """The unknown keys of all tables, sorted. Raises KitError if a key has two values."""
    united: dict[str, tuple[str, Any]] = {}
    for name, extra in named:
        for key, value in extra.items():
            first, other = united.setdefault(key, (name, value))
            if other != value:
                raise KitError(
                    "table.merge-keys",
                    "the key {key} {whose} is {first_value} in {first} and {value} in {name}",
                    fix="make them equal, or remove the key; HCCL does not read it",
                    key=shown(key),
                    whose=whose,
                    first_value=shown(other),
                    first=first,
                    value=shown(value),
                    name=name,
                )
    return {key: united[key][1] for key in sorted(united)}


def _reject_incompatible(tables: Sequence[RankTable], names: Sequence[str]) -> None:
    if not tables:
        raise KitError("table.merge-nothing", "no table to merge")
    first = tables[0]
    for table, name in zip(tables, names, strict=True):
        if table.version not in VERSIONS:
            raise KitError(
                "table.merge-form",
                "{name} is of {form}; only versions {versions} can be merged",
                hint=Message("table.merge-form.fix", "hccl-kit convert {path} --to 1.0", path=quote(name))
                if table.version == ""
                else None,
                name=name,
                form=table.form,
                versions=row(VERSIONS),
            )
        if table.version != first.version:
            raise KitError(
                "table.merge-forms",
                "{first} is of {first_form} and {name} of {form}",
                fix="hccl-kit convert {path} --to {version} reports what that would lose",
                first=names[0],
                first_form=first.form,
                name=name,
                form=table.form,
                path=quote(name),
                version=first.version,
            )
        if table.version != "2.0" and table.status != READY:  # HCCL does not read that of 2.0
            raise KitError(
                "table.merge-not-ready",
                '{name} is not ready: its status is {status}, not "completed"',
                name=name,
                status=shown(table.status),
            )


def _reject_duplicates(tables: Sequence[RankTable], names: Sequence[str]) -> None:
    """Raises KitError for a server or address in two tables, and for a loopback server id in a table of several."""
    several = sum(len(table.servers) for table in tables) > 1
    owner: dict[str, str] = {}
    taken: dict[str, tuple[Device, Server, str]] = {}
    for table, name in zip(tables, names, strict=True):
        for server in table.servers:
            if several and is_loopback(server.id):
                raise KitError(
                    "table.merge-loopback",
                    "{name} has the server id {server}, a loopback address",
                    fix="generate it again with hccl-gen --server_ip ADDRESS",
                    name=name,
                    server=shown(server.id),
                )
            if server.id in owner:
                raise KitError(
                    "table.merge-server",
                    "server {server} is in {first} and in {name}",
                    server=shown(server.id),
                    first=owner[server.id],
                    name=name,
                )
            owner[server.id] = name
            for device in server.devices:
                for ip in device.ip.split(",") if device.ip else ():
                    owning = (device, server, name)
                    other = taken.setdefault(ip, owning)
                    if other is not owning:
                        raise KitError(
                            "table.merge-address",
                            "{owner} has the address {address}, and so has {other}",
                            fix="hccn_tool -i N -ip -g on each server prints the right one; "
                            "hccl-gen generates a table again",
                            owner=_named(*owning),
                            address=shown(ip),
                            other=_named(*other),
                        )


def _named(device: Device, server: Server, table: str) -> Message:
    return Message(
        "table.merge-device",
        "device {device} of server {server} in {table}",
        device=device.id,
        server=shown(server.id),
        table=table,
    )
