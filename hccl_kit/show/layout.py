"""What a picture of a table shows: super pods, servers, groups of linked cards, ranks, and the faults of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from hccl_kit.base.wording import counted
from hccl_kit.check.engine import Report
from hccl_kit.table.finding import Diagnostic
from hccl_kit.table.model import Device, RankTable, Server
from hccl_kit.table.pointer import Pointer
from hccl_kit.table.products import PRODUCTS, Product

MAX_NETWORKS = 8
"""Networks of the outer layers that are named (version 2.0)."""
MAX_FAULTS = 12
"""Faults that are told one by one."""


class Card(NamedTuple):
    """A card of a server; `rank` is None where it takes no part. `faults` are those at its place, one per rule."""

    id: int
    rank: int | None
    address: str = ""
    faults: tuple[Diagnostic, ...] = ()


class Host(NamedTuple):
    """A server with its cards, in groups of those that are linked with each other."""

    id: str
    groups: tuple[tuple[Card, ...], ...]
    faults: tuple[Diagnostic, ...] = ()

    @property
    def cards(self) -> tuple[Card, ...]:
        """Its cards that take part, by id."""
        return tuple([card for group in self.groups for card in group if card.rank is not None])

    @property
    def ranks(self) -> tuple[int, ...]:
        """Its ranks, from the lowest on."""
        return tuple(sorted([card.rank for card in self.cards if card.rank is not None]))

    @property
    def has_faults(self) -> bool:
        """It or one of its cards is at fault."""
        return bool(self.faults) or any(card.faults for group in self.groups for card in group)


class Run(NamedTuple):
    """Servers in a row; `are_alike`: with the same cards, and ranks that count on from one to the next."""

    hosts: tuple[Host, ...]
    are_alike: bool = True

    @property
    def ranks(self) -> str:
        """From its lowest to its highest rank: "0-31"; nothing where it has none."""
        ranks = [rank for host in (self.hosts[0], self.hosts[-1]) for rank in host.ranks]
        return "" if not ranks else str(ranks[0]) if len(set(ranks)) == 1 else f"{min(ranks)}-{max(ranks)}"


class Pod(NamedTuple):
    """Servers of one super pod; `id` is None for those in none."""

    id: str | None
    runs: tuple[Run, ...]
    faults: tuple[Diagnostic, ...] = ()


class Told(NamedTuple):
    """A fault in words, and its severity."""

    severity: str
    text: str


class Picture(NamedTuple):
    """All that a picture shows of a table.

    `noun` is what a Host is here: "server", or in version 2.0 "network". `faults` are errors, then warnings, summed up
    where they are many. `networks` are lines about the networks of version 2.0. `more_pods`: so many are left out.
    """

    title: str
    noun: str
    pods: tuple[Pod, ...]
    faults: tuple[Told, ...]
    planes: int
    networks: tuple[str, ...] = ()
    more_pods: int = 0

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs of all super pods."""
        return tuple([run for pod in self.pods for run in pod.runs])

    @property
    def size(self) -> int:
        """The number of servers."""
        return sum(len(run.hosts) for run in self.runs)


def picture(report: Report, table: RankTable) -> Picture:
    """The picture of the table of a report. Notes are no faults, so they are left to the report."""
    product = next((one for one in PRODUCTS if one.name == report.product), None)
    faults = [found for found in report.diagnostics if found.severity != "note"]
    marks = _marks(faults, table)
    hosts = [_host(server, product, marks) for server in table.servers]
    return Picture(
        title=_title(report, table),
        noun="network" if table.version == "2.0" else "server",
        pods=tuple(_pods(table, hosts, marks)),
        faults=tuple(_told(faults)),
        planes=product.planes if product else 1,
        networks=tuple(_networks(table)),
    )


def _title(report: Report, table: RankTable) -> str:
    noun = "innermost network" if table.version == "2.0" else "server"
    facts = [table.form, counted(len(table.servers), noun), counted(table.world_size, "device")]
    if table.super_pods:
        facts.append(counted(len(table.super_pods), "super pod"))
    told = " (told by the version)" if report.is_assumed else ""
    return f"{report.name}: {', '.join(facts)}, product {report.product}{told}"


def _told(faults: Sequence[Diagnostic]) -> Iterator[Told]:
    """Each fault where there are at most MAX_FAULTS, else the first of every rule and how many more it has."""
    are_many = len(faults) > MAX_FAULTS
    firsts: dict[str | int, Diagnostic] = {}
    numbers: Counter[str | int] = Counter()
    for place, found in enumerate(sorted(faults, key=lambda found: found.severity != "error")):
        key: str | int = found.rule if are_many else place
        firsts.setdefault(key, found)
        numbers[key] += 1
    for said, found in firsts.items():
        more = f" ({numbers[said] - 1} more of {found.rule})" if numbers[said] > 1 else ""
        yield Told(found.severity, f"{found.rule} {found.severity}: {found.message}{more}")


def _networks(table: RankTable) -> Iterator[str]:
    """How many networks each layer has; those of the outer ones by name with their ranks, MAX_NETWORKS of them."""
    inner = {(device.levels[0].layer, device.levels[0].instance) for device in table.every if device.levels}
    for layer, number in sorted(Counter(layer for layer, _ in inner).items()):
        yield f"layer {layer}: {counted(number, 'network')}, drawn above"
    sizes = Counter((level.layer, level.instance) for device in table.every for level in device.levels[1:])
    for (layer, name), size in sorted(sizes.items())[:MAX_NETWORKS]:
        yield f"layer {layer}: {name}, {counted(size, 'rank')}"
    if len(sizes) > MAX_NETWORKS:
        yield f"and {counted(len(sizes) - MAX_NETWORKS, 'more network')}"


def _marks(faults: Sequence[Diagnostic], table: RankTable) -> Mapping[Pointer, tuple[Diagnostic, ...]]:
    """The faults at or within each device, server or super pod, by its place; the first of every rule."""
    if not faults:
        return {}
    places = {device.at for device in table.every} | {server.at for server in table.servers}
    places |= {pod.at for pod in table.super_pods or ()}
    marks: dict[Pointer, dict[str, Diagnostic]] = {}
    for found in faults:
        ways = (found.pointer[:length] for length in range(len(found.pointer), 0, -1))
        place = next((way for way in ways if way in places), None)
        if place is not None:
            marks.setdefault(place, {}).setdefault(found.rule, found)
    return {place: tuple(by_rule.values()) for place, by_rule in marks.items()}


def _host(server: Server, product: Product | None, marks: Mapping[Pointer, tuple[Diagnostic, ...]]) -> Host:
    cards: dict[int, list[Card]] = {}
    for device in sorted(server.devices, key=lambda device: (device.id, device.rank)):
        cards.setdefault(device.id, []).append(Card(device.id, device.rank, _address(device), marks.get(device.at, ())))
    groups = product.groups if product else ()
    drawn = [tuple([card for one in group for card in cards.pop(one, [Card(one, None)])]) for group in groups]
    others = tuple([card for same in cards.values() for card in same])  # without groups all cards, else what has none
    if others or not drawn:
        drawn.append(others)
    # A network of version 2.0 stands nowhere in the file but in its ranks, and has the place of the first of them.
    has_own_place = all(device.at != server.at for device in server.devices[:1])
    return Host(server.id, tuple(drawn), marks.get(server.at, ()) if has_own_place else ())


def _address(device: Device) -> str:
    return device.ip or next((address.text for level in device.levels[:1] for address in level.addresses), "")


def _pods(table: RankTable, hosts: Sequence[Host], marks: Mapping[Pointer, tuple[Diagnostic, ...]]) -> Iterator[Pod]:
    """The super pods in the order of the table, then the servers in none; a server in two is shown in the first."""
    super_pods = table.super_pods or ()
    homes: dict[str, int] = {}
    for place, pod in enumerate(super_pods):
        for member in pod.servers:
            homes.setdefault(member.id, place)
    members: dict[int, list[Host]] = {}
    for host in hosts:
        members.setdefault(homes.get(host.id, len(super_pods)), []).append(host)
    for place, pod in enumerate(super_pods):
        yield Pod(pod.id, tuple(_runs(members.get(place, []))), marks.get(pod.at, ()))
    if len(super_pods) in members:
        yield Pod(None, tuple(_runs(members[len(super_pods)])))


def _runs(hosts: Sequence[Host]) -> Iterator[Run]:
    """Servers in a row that look alike, each run as long as it goes; one with a fault stands alone."""
    start = 0
    for place in range(1, len(hosts) + 1):
        if place == len(hosts) or not _goes_on(hosts[place - 1], hosts[place]):
            yield Run(tuple(hosts[start:place]))
            start = place


def _goes_on(before: Host, after: Host) -> bool:
    cards = before.cards
    if len(cards) != len(after.cards) or before.has_faults or after.has_faults:
        return False
    pairs = zip(cards, after.cards, strict=True)
    return all(one.id == two.id and (one.rank or 0) + len(cards) == two.rank for one, two in pairs)
