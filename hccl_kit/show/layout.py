"""What a picture of a table shows: super pods, servers, groups of cards, ranks, faults. What looks alike is folded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from hccl_kit.check import Report
from hccl_kit.finding import Diagnostic, Pointer
from hccl_kit.products import PRODUCTS, Product
from hccl_kit.rank_table import Device, RankTable, Server

MAX_NETWORKS = 8


class Card(NamedTuple):
    """A card of a server; `rank` is None where it takes no part. `faults` are the ids of the rules it breaks."""

    id: int
    rank: int | None
    address: str | None = None
    faults: tuple[str, ...] = ()


class Host(NamedTuple):
    """A server with its cards, in groups of those that are linked with each other."""

    id: str
    groups: tuple[tuple[Card, ...], ...]
    faults: tuple[str, ...] = ()

    @property
    def cards(self) -> tuple[Card, ...]:
        """Its cards that take part, by id."""
        return tuple(card for group in self.groups for card in group if card.rank is not None)

    @property
    def ranks(self) -> tuple[int, ...]:
        """Its ranks, from the lowest on."""
        return tuple(sorted(card.rank for card in self.cards if card.rank is not None))


class Run(NamedTuple):
    """Servers in a row that look alike: the same cards, and ranks that count on from one to the next."""

    hosts: tuple[Host, ...]


class Pod(NamedTuple):
    """Servers of one super pod; `id` is None for those in none."""

    id: str | None
    runs: tuple[Run, ...]


class Picture(NamedTuple):
    """All that a picture shows of a table. `faults` are the findings, errors first.

    `networks` are lines about the networks around those that stand for servers (version 2.0).
    """

    title: str
    pods: tuple[Pod, ...]
    faults: tuple[Diagnostic, ...]
    planes: int
    networks: tuple[str, ...] = ()


def picture(report: Report, table: RankTable) -> Picture:
    """The picture of the table of a report."""
    product = next((one for one in PRODUCTS if one.name == report.product), None)
    marks = _marks(report.diagnostics, table)
    hosts = {server.at or (place,): _host(server, product, marks) for place, server in enumerate(table.servers)}
    pods = tuple(Pod(name, tuple(_runs([*members]))) for name, members in _by_pod(table, list(hosts.values())))
    faults = tuple(sorted(report.diagnostics, key=lambda found: ("error", "warning", "note").index(found.severity)))
    called = f"version {table.version}" if table.version else "template 2"
    title = (
        f"{report.name}: {called}, {_counted(len(table.servers), _noun(table))}, {_counted(table.world_size, 'device')}"
    )
    pods_said = f", {_counted(len(table.super_pods), 'super pod')}" if table.super_pods else ""
    return Picture(
        f"{title}{pods_said}, product {report.product}",
        pods,
        faults,
        product.planes if product else 1,
        _networks(table),
    )


def _networks(table: RankTable) -> tuple[str, ...]:
    """The networks of the outer layers and how many ranks each has, the first MAX_NETWORKS of them."""
    sizes = Counter((level.layer, level.instance) for device in table.every for level in device.levels[1:])
    lines = [f"layer {layer}: {name}, {_counted(size, 'rank')}" for (layer, name), size in sorted(sizes.items())]
    more = [f"and {len(lines) - MAX_NETWORKS} more networks"] if len(lines) > MAX_NETWORKS else []
    return (*lines[:MAX_NETWORKS], *more)


def _noun(table: RankTable) -> str:
    return "innermost network" if table.version == "2.0" else "server"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _marks(found: Sequence[Diagnostic], table: RankTable) -> Mapping[Pointer, tuple[str, ...]]:
    """The rules that are broken at the place of a device or a server, by that place; notes mark nothing."""
    if not found:
        return {}
    places = {device.at for device in table.every} | {server.at for server in table.servers}
    marks: dict[Pointer, tuple[str, ...]] = {}
    for one in found:
        ways = (one.pointer[:length] for length in range(len(one.pointer), 0, -1))
        place = next((way for way in ways if way in places), None)
        if place and one.severity != "note" and one.rule not in marks.get(place, ()):
            marks[place] = (*marks.get(place, ()), one.rule)
    return marks


def _host(server: Server, product: Product | None, marks: Mapping[Pointer, tuple[str, ...]]) -> Host:
    cards: dict[int, list[Card]] = {}
    for device in sorted(server.devices, key=lambda device: (device.id, device.rank)):
        cards.setdefault(device.id, []).append(_card(device, marks))
    groups = product.groups if product else ()
    drawn = [tuple(card for one in group for card in cards.get(one, [Card(one, None)])) for group in groups]
    alone = tuple(card for one, same in cards.items() if not any(one in group for group in groups) for card in same)
    if alone or not drawn:
        drawn.append(alone)
    own = marks.get(server.at, ()) if server.at not in [device.at for device in server.devices] else ()
    return Host(server.id, tuple(drawn), own)


def _card(device: Device, marks: Mapping[Pointer, tuple[str, ...]]) -> Card:
    address = device.ip or next((one.text for level in device.levels[:1] for one in level.addresses), None)
    return Card(device.id, device.rank, address, marks.get(device.at, ()))


def _by_pod(table: RankTable, hosts: Sequence[Host]) -> Iterator[tuple[str | None, list[Host]]]:
    """The servers of each super pod in the order of the table, then those of none."""
    homes: dict[str, str] = {}
    for pod in table.super_pods or ():
        for member in pod.servers:
            homes.setdefault(member.id, pod.id)
    names: dict[str | None, list[Host]] = {pod.id: [] for pod in table.super_pods or ()}
    for host in hosts:
        names.setdefault(homes.get(host.id), []).append(host)
    yield from names.items()


def _runs(hosts: Sequence[Host]) -> Iterator[Run]:
    """Servers in a row that look alike, each run as long as it goes; one with a fault stands alone."""
    start = 0
    for place in range(1, len(hosts) + 1):
        if place == len(hosts) or not _goes_on(hosts[place - 1], hosts[place]):
            yield Run(tuple(hosts[start:place]))
            start = place


def _goes_on(before: Host, after: Host) -> bool:
    if _has_faults(before) or _has_faults(after) or len(before.cards) != len(after.cards):
        return False
    step = len(before.cards)
    pairs = zip(before.cards, after.cards, strict=True)
    return all(one.id == two.id and (one.rank or 0) + step == two.rank for one, two in pairs)


def _has_faults(host: Host) -> bool:
    return bool(host.faults) or any(card.faults for card in host.cards)


def spans(numbers: Sequence[int]) -> str:
    """Numbers as people write them: "0-3,6"."""
    pieces = []
    for _, run in groupby(enumerate(sorted(numbers)), key=lambda pair: pair[1] - pair[0]):
        ids = [number for _, number in run]
        pieces.append(str(ids[0]) if len(ids) == 1 else f"{ids[0]}-{ids[-1]}")
    return ",".join(pieces)
