"""Spare servers: which can take the place of every server of a table, with a table that the rules accept.

A Placement is the table of a job, in which spares take the places of others.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product as product_of
from typing import Any, NamedTuple

from hccl_kit.base.errors import KitError
from hccl_kit.base.host_name import check_host
from hccl_kit.base.message import Message
from hccl_kit.base.network import ip_of
from hccl_kit.base.wording import joined, row
from hccl_kit.check.engine import check_text
from hccl_kit.launch.files import TableFile
from hccl_kit.launch.plan import address_of
from hccl_kit.table.formats import write
from hccl_kit.table.model import RankTable, Server

VERSIONS = ("1.0", "1.2")
"""The versions that can have spares: their tables name the hosts of the ranks in one list."""
MAX_SPARES = 64
OF_RANK = ("rank_id", "device_port")
"""Keys of a device that stay: they belong to the rank, the others to the card."""


class Spare(NamedTuple):
    """A spare server: its id, its address for other servers, and `entry`, its entry in a server list."""

    id: str
    address: str
    entry: Mapping[str, Any]


class Placement(NamedTuple):
    """The table as it is now, its file, and the spares that are left."""

    table: RankTable
    file: TableFile
    spares: tuple[Spare, ...] = ()

    def replace(self, lost: Sequence[str], report: Callable[[str], object], *, by: str | None = None) -> Placement:
        """The placement with a spare in the place of each of these servers; `report` gets a line about each.

        `by` names the spare for the only one. Raises KitError if no spare is left, or the table with it has an error.
        """
        spares, pairs, lines = list(self.spares), [], []
        for server in lost:
            spare = next((spare for spare in spares if by in (None, spare.id)), None)
            if spare is None:
                raise KitError(
                    "launch.no-spare",
                    "no spare takes the place of server {server}: {reason}",
                    fix="hccl-kit run TABLE --ssh --spares LIST names more of them",
                    server=server,
                    reason=Message("launch.other-spare", "{spare} is not one of them", spare=by)
                    if by
                    else Message("launch.none-left", "none is left"),
                )
            spares.remove(spare)
            pairs.append((server, spare))
            lines.append(
                Message(
                    "launch.replaced",
                    "spare {spare} takes the place of server {server}; left: {left}",
                    spare=spare.id,
                    server=server,
                    left=row(other.id for other in spares) or Message("launch.no-spares", "none"),
                )
            )
        table, file = table_with(self.file, pairs)
        for line in lines:
            report(line)
        return Placement(table, file, tuple(spares))


def check_names(names: Sequence[str], table: RankTable) -> None:
    """Raises KitError if one of these cannot be a spare of the table, whatever its cards are."""
    if table.version not in VERSIONS:
        raise KitError(
            "launch.spares.table-no-spares",
            "a table of {form} has no spares; accepted: versions {versions}",
            fix="hccl-kit convert writes another version",
            form=table.form,
            versions=joined(VERSIONS),
        )
    if len(table.servers) < 2:
        raise KitError(
            "launch.spares.table-server-no",
            "a table of one server has no spares: --spares is for jobs that start over ssh",
        )
    if len(names) > MAX_SPARES:
        raise KitError(
            "launch.spares.spares",
            "{count} spares; accepted: at most {max_spares}",
            count=len(names),
            max_spares=MAX_SPARES,
        )
    known = {_plain(name) for server in table.servers for name in (server.id, address_of(server))}
    for number, name in enumerate(names):
        check_host(name)
        if _plain(name) in known:
            raise KitError(
                "launch.spares.spare-already-server", "spare {name} is already a server of the table", name=name
            )
        if _plain(name) in map(_plain, names[:number]):
            raise KitError("launch.spares.spare-listed-twice", "spare {name} is listed twice", name=name)


def _plain(name: str) -> str:
    """The canonical form of an address, or the host name in lower case."""
    return str(ip_of(name) or name.lower())


def cards_in_use(table: RankTable) -> tuple[int, ...]:
    """The ids of the cards that any server of the table uses; a spare has them all, so it fits every server."""
    return tuple(sorted({device.id for device in table.every}))


def fit(file: TableFile, table: RankTable, singles: Sequence[RankTable]) -> tuple[Spare, ...]:
    """The spares of a table, from a table of each alone.

    Raises KitError if one cannot take the place of some server: a card is missing, the super pod is another, or a rule
    reports an error for the table with it.
    """
    spares = tuple(_spare(single, table) for single in singles)
    for pairs in _places([server.id for server in table.servers], spares):
        table_with(file, pairs)
    return spares


def _spare(single: RankTable, table: RankTable) -> Spare:
    (spare,) = single.servers
    for server in table.servers:
        here, there = _pod_of(table, server), _pod_of(single, spare)
        if here != there:
            raise KitError(
                "launch.spares.spare-not-fit-2",
                "spare {spare} does not fit: it is in super pod {there}, server {server} in {here}",
                fix="its cards would not reach the others; choose a spare of the same super pod",
                spare=spare.id,
                there=there,
                server=server.id,
                here=here,
            )
    _require_known_keys(table, spare)
    (entry,) = json.loads(write(single))["server_list"]
    return Spare(spare.id, address_of(spare), entry)


def _pod_of(table: RankTable, server: Server) -> str | None:
    pods = table.super_pods or ()
    return next((pod.id for pod in pods if server.id in {member.id for member in pod.servers}), None)


def _require_known_keys(table: RankTable, spare: Server) -> None:
    """Raises KitError if the cards of the table have keys that those of the spare lack."""
    known = {*OF_RANK, *(key for device in spare.devices for key in device.extra)}
    if unknown := sorted(table.keys - known):
        raise KitError(
            "launch.spares.spare-not-fit",
            "spare {id} does not fit: the cards of the table have {unknown}, those of the spare do not",
            fix="write the table without {unknown}, or the job without spares",
            id=spare.id,
            unknown=unknown[0],
        )


def _places(servers: Sequence[str], spares: Sequence[Spare]) -> Iterator[list[tuple[str, Spare]]]:
    """Each spare in the place of each server, then many spares at once: rules also compare the spares."""
    yield from ([pair] for pair in product_of(servers, spares))
    if len(spares) > 1:
        for first in range(0, len(spares), len(servers)):
            yield list(zip(servers, spares[first:], strict=False))


def table_with(file: TableFile, pairs: Sequence[tuple[str, Spare]]) -> tuple[RankTable, TableFile]:
    """The table and its file with each spare in the place of a server; the digest of the text is in its name.

    Raises KitError if a spare does not fit there.
    """
    value = json.loads(file.text.lstrip("\ufeff"))  # a byte order mark is only a warning (HK003)
    for server, spare in pairs:
        value = substituted(value, server, spare.entry)
    text = json.dumps(value, indent=4) + "\n"
    digest = hashlib.sha256(text.encode()).hexdigest()
    made = TableFile(f"{file.name.removesuffix('.json')}-{digest[:12]}.json", text)
    report = check_text(made.text, file.name)
    for finding in report.findings:
        if finding.severity == "error":
            in_place = (
                Message("launch.spares.in-place", "{spare} in the place of {server}", spare=spare.id, server=server)
                for server, spare in pairs[:3]
            )
            raise KitError(
                "launch.spares.table",
                "{rule}: {reason}, in the table with {spare_in_place}",
                hint=finding.hint,
                rule=finding.rule,
                reason=finding.message,
                spare_in_place=joined(in_place),
            )
    assert report.table
    return report.table, made


def substituted(table: Mapping[str, Any], lost: str, spare: Mapping[str, Any]) -> dict[str, Any]:
    """The table with `spare` in the place of the server `lost`: it gets its ranks, on the cards of the same ids.

    Raises KitError if it does not fit.
    """
    (place,) = (number for number, server in enumerate(table["server_list"]) if server["server_id"] == lost)
    cards = {card["device_id"]: card for card in spare["device"]}
    devices = []
    for device in table["server_list"][place]["device"]:
        card = cards.get(device["device_id"])
        if card is None:
            raise KitError(
                "launch.substitute.no-card",
                "the spare does not fit: spare {spare} has no card {card}, which server {server} uses",
                spare=spare["server_id"],
                card=device["device_id"],
                server=lost,
            )
        kept = {key: device[key] for key in OF_RANK if key in device}
        devices.append({**card, **kept})
    changed = {**table, "server_list": [*table["server_list"]]}
    changed["server_list"][place] = {**spare, "device": devices}
    if "super_pod_list" in table:
        changed["super_pod_list"] = [_pod(pod, lost, spare["server_id"]) for pod in table["super_pod_list"]]
    return changed


def _pod(pod: Mapping[str, Any], lost: str, spare: str) -> dict[str, Any]:
    members = [
        {**server, "server_id": spare} if server["server_id"] == lost else server for server in pod["server_list"]
    ]
    return {**pod, "server_list": members}
