"""The tables of several servers become one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from ipaddress import ip_address
from itertools import count
from shlex import quote
from typing import Any, Literal

from hccl_kit.base.errors import KitError
from hccl_kit.base.network import is_loopback
from hccl_kit.table.document import shown
from hccl_kit.table.model import PodServer, RankTable, Server, SuperPod

Order = Literal["natural", "as-given"]
VERSIONS = ("1.0", "1.2", "2.0")
"""The versions whose servers can stand side by side. Those of 2.0 are the networks of the innermost layer."""
_DIGITS = 20
"""Numbers in names are compared as numbers up to this length."""


def merge(tables: Sequence[RankTable], *, names: Sequence[str] = (), order: Order = "natural") -> RankTable:
    """One table of all servers; ranks are numbered anew, server by server, in the order they had on each.

    The tables are sound each; one alone is put in order. Servers come as given, or in natural order: by address
    (10.0.0.2 before 10.0.0.10), then by name (node2 before node10), those of one super pod together. Super pods of one
    id are united. Unknown keys stay; what several tables say of one key must be equal. KitError, in which `names` stand
    for the tables: a server or an address in two tables, a server id by which every host means itself, tables of two
    versions or of one that lists no servers, one that is not ready.

    Laws: associative; in natural order commutative too; every device stays, with all but its rank.
    """
    called = list(names) or [f"table {number}" for number in range(1, len(tables) + 1)]
    _reject_incompatible(tables, called)
    _reject_duplicates(tables, called)
    servers = [server for table in tables for server in table.servers]
    pods = _merged_pods([pod for table in tables for pod in table.super_pods or ()])
    if order == "natural":
        home = {server.id: pod.id for pod in pods for server in pod.servers}
        servers.sort(key=lambda server: (natural(home.get(server.id, "")), natural(server.id)))
        pods = [_in_natural_order(pod) for pod in sorted(pods, key=lambda pod: natural(pod.id))]
    says_servers = any(table.declared_servers is not None for table in tables)
    says_ranks = any(table.declared_ranks is not None for table in tables)
    return RankTable(
        version=tables[0].version,
        status="completed",
        servers=_renumbered(servers),
        super_pods=tuple(pods) if any(table.super_pods is not None for table in tables) else None,
        declared_servers=len(servers) if says_servers else None,
        declared_ranks=sum(len(server.devices) for server in servers) if says_ranks else None,
        extra=_merged_keys([(name, table.extra) for name, table in zip(called, tables, strict=True)], "of the table"),
    )


def file_name(table: RankTable) -> str:
    """`hccl_2s_16p.json`: the number of servers and of cards."""
    return f"hccl_{len(table.servers)}s_{table.world_size}p.json"


def is_merged(name: str) -> bool:
    """Whether a file name is one that `file_name` gives: the output of an earlier merge, not to be merged again."""
    return re.fullmatch("hccl_[0-9]+s_[0-9]+p[.]json", name) is not None


def natural(text: str) -> tuple[Any, ...]:
    """A key that sorts as people count: addresses by their number, numbers in names by their value."""
    try:
        address = ip_address(text)
        return 0, address.version, int(address), text
    except ValueError:
        parts = re.split("([0-9]+)", text)  # every second part is a number
        parts[1::2] = [number.zfill(_DIGITS) for number in parts[1::2]]
        return 1, tuple(parts), text


def _renumbered(servers: Iterable[Server]) -> tuple[Server, ...]:
    ranks = count()
    renumbered = []
    for server in servers:
        new = {device.rank: next(ranks) for device in sorted(server.devices, key=lambda device: device.rank)}
        devices = tuple(device._replace(rank=new[device.rank], at=()) for device in server.devices)
        renumbered.append(Server(server.id, devices, server.extra))
    return tuple(renumbered)


def _merged_pods(pods: Sequence[SuperPod]) -> list[SuperPod]:
    """One pod for each id, in order of first appearance, with the servers of all that have it."""
    by_id: dict[str, list[SuperPod]] = {}
    for pod in pods:
        by_id.setdefault(pod.id, []).append(pod)
    return [
        SuperPod(
            name,
            tuple(server for pod in same for server in pod.servers),
            _merged_keys([("one table", pod.extra) for pod in same], f"of super pod {shown(name)}"),
        )
        for name, same in by_id.items()
    ]


def _in_natural_order(pod: SuperPod) -> SuperPod:
    def place(server: PodServer) -> tuple[Any, ...]:
        return natural(server.id)

    return SuperPod(pod.id, tuple(sorted(pod.servers, key=place)), pod.extra)


def _merged_keys(named: Sequence[tuple[str, Mapping[str, Any]]], whose: str) -> dict[str, Any]:
    """The unknown keys of all, sorted; two values for one key are not decided between."""
    united: dict[str, tuple[str, Any]] = {}
    for name, extra in named:
        for key, value in extra.items():
            first, other = united.setdefault(key, (name, value))
            if other != value:
                raise KitError(
                    f"the key {shown(key)} {whose} is {shown(other)} in {first} and {shown(value)} in {name}",
                    hint="make them equal, or remove the key; HCCL does not read it",
                )
    return {key: united[key][1] for key in sorted(united)}


def _reject_incompatible(tables: Sequence[RankTable], names: Sequence[str]) -> None:
    if not tables:
        raise KitError("there is no table to merge")
    first = tables[0]
    for table, name in zip(tables, names, strict=True):
        if table.version not in VERSIONS:
            raise KitError(
                f"{name} is of {table.form}; tables of version {', '.join(VERSIONS)} can be merged",
                hint=f"hccl-kit convert {quote(name)} --to 1.0" if table.version == "" else None,
            )
        if table.version != first.version:
            raise KitError(
                f"{names[0]} is of {first.form} and {name} of {table.form}",
                hint=f"hccl-kit convert {quote(name)} --to {first.version} tells what that would lose",
            )
        if table.version != "2.0" and table.status != "completed":  # HCCL does not read that of 2.0
            raise KitError(f'{name} is not ready: its status is {shown(table.status)}, not "completed"')


def _reject_duplicates(tables: Sequence[RankTable], names: Sequence[str]) -> None:
    """Two tables with one server or one address, and servers that go by the address of every host."""
    several = sum(len(table.servers) for table in tables) > 1
    owner: dict[str, str] = {}
    taken: dict[str, str] = {}
    for table, name in zip(tables, names, strict=True):
        for server in table.servers:
            if several and is_loopback(server.id):
                raise KitError(
                    f"{name} names its server {shown(server.id)}, by which every host means itself",
                    hint="make it anew with hccl-gen --server_ip ADDRESS",
                )
            if server.id in owner:
                raise KitError(f"server {shown(server.id)} is in {owner[server.id]} and in {name}")
            owner[server.id] = name
            for device in server.devices:
                for ip in device.ip.split(",") if device.ip else ():
                    _take(taken, ip, f"device {device.id} of server {shown(server.id)} in {name}")


def _take(taken: dict[str, str], ip: str, device: str) -> None:
    other = taken.setdefault(ip, device)
    if other is not device:
        raise KitError(
            f"{device} has the address {shown(ip)}, which {other} has too",
            hint="hccn_tool -i N -ip -g on each server tells which is right; hccl-gen makes its table anew",
        )
