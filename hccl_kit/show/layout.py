"""The content of a picture of a table: super pods, servers, groups of linked cards, ranks, and their findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from hccl_kit.base.message import Message
from hccl_kit.base.wording import clauses, counted
from hccl_kit.check.result import Report
from hccl_kit.check.rule import SEVERITIES
from hccl_kit.table.finding import Finding
from hccl_kit.table.model import Device, RankTable, Server
from hccl_kit.table.pointer import Pointer
from hccl_kit.table.products import Product, product_or_auto


class Card(NamedTuple):
    """A card of a server; `rank` is None if it is not in the job. `findings` are the findings on it, one per rule."""

    id: int
    rank: int | None
    address: str = ""
    findings: tuple[Finding, ...] = ()


class Host(NamedTuple):
    """A server with its cards, in groups of linked cards."""

    id: str
    groups: tuple[tuple[Card, ...], ...]
    findings: tuple[Finding, ...] = ()

    @property
    def all_cards(self) -> tuple[Card, ...]:
        """Its cards, also those without rank, by id."""
        return tuple([card for group in self.groups for card in group])

    @property
    def cards(self) -> tuple[Card, ...]:
        """Its cards with a rank, by id."""
        return tuple([card for card in self.all_cards if card.rank is not None])

    @property
    def ranks(self) -> tuple[int, ...]:
        """Its ranks in ascending order."""
        return tuple(sorted([card.rank for card in self.cards if card.rank is not None]))

    @property
    def has_findings(self) -> bool:
        """Whether there are findings on it or on one of its cards."""
        return bool(self.findings) or any(card.findings for card in self.all_cards)


class Run(NamedTuple):
    """Consecutive servers; `is_uniform`: with the same cards, and ranks that continue from one to the next."""

    hosts: Sequence[Host]
    is_uniform: bool = True

    @property
    def ranks(self) -> str:
        """Its lowest and highest rank, such as "0-31"; empty without ranks."""
        ranks = [rank for host in (self.hosts[0], self.hosts[-1]) for rank in host.ranks]
        return "" if not ranks else str(ranks[0]) if len(set(ranks)) == 1 else f"{min(ranks)}-{max(ranks)}"

    @property
    def has_findings(self) -> bool:
        """Whether there are findings on a server of it."""
        return any(host.has_findings for host in self.hosts)


MAX_NETWORKS = 8
"""Networks of the outer layers that are listed (version 2.0)."""
MAX_FINDINGS = 12
"""Findings that are listed one by one."""


class Pod(NamedTuple):
    """Servers of one super pod; `id` is None for servers without super pod."""

    id: str | None
    runs: tuple[Run, ...]
    findings: tuple[Finding, ...] = ()


class FindingLine(NamedTuple):
    """A finding as a line of text, and its severity."""

    severity: str
    text: str


class Picture(NamedTuple):
    """The whole picture of a table.

    `noun` is the name of a Host: "server", or in version 2.0 "network". `findings` are errors, then warnings,
    summarized if there are many. `networks` are lines about the networks of version 2.0. `more_pods` counts omitted
    super pods.
    """

    title: str
    noun: str
    pods: tuple[Pod, ...]
    findings: tuple[FindingLine, ...]
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
    """The picture of the table of a report. Findings of severity note are left out."""
    product = product_or_auto(report.product)
    findings = [finding for finding in report.findings if finding.severity != "note"]
    marks = _marks(findings, table)
    hosts = [host_of(server, product, marks) for server in table.servers]
    return Picture(
        title=title(report, table.form, len(table.servers), table.world_size, len(table.super_pods or ())),
        noun="network" if table.version == "2.0" else "server",
        pods=tuple(_pods(table, hosts, marks)),
        findings=tuple(_finding_lines(findings)),
        planes=product.planes if product else 1,
        networks=tuple(_networks(table)),
    )


def title(report: Report, form: str, servers: int, devices: int, pods: int) -> str:
    """The title of a picture; `form` is that of the table ("version 1.0")."""
    hosts = counted(servers, "innermost network") if report.format == "2.0" else counted(servers, "server")
    facts = [form, hosts, counted(devices, "device"), *([counted(pods, "super pod")] if pods else [])]
    product = Message("show.product", "product {product}", product=report.product)
    if report.is_assumed:
        product = Message("show.assumed", "product {product} (derived from the version)", product=report.product)
    return Message("show.title", "{name}: {facts}", name=report.name, facts=clauses([*facts, product]))


def _finding_lines(findings: Sequence[Finding]) -> Iterator[FindingLine]:
    """Every finding, or with more than MAX_FINDINGS the first of every rule and the number of others."""
    are_many = len(findings) > MAX_FINDINGS
    firsts: dict[str | int, Finding] = {}
    numbers: Counter[str | int] = Counter()
    for place, finding in enumerate(sorted(findings, key=lambda finding: finding.severity != "error")):
        key: str | int = finding.rule if are_many else place
        firsts.setdefault(key, finding)
        numbers[key] += 1
    for key, finding in firsts.items():
        text = Message(
            "show.finding",
            "{rule} {severity}: {message}",
            rule=finding.rule,
            severity=SEVERITIES[finding.severity],
            message=finding.message,
        )
        if numbers[key] > 1:
            number = numbers[key] - 1
            text = Message(
                "show.findings", "{finding} ({number} more of {rule})", finding=text, number=number, rule=finding.rule
            )
        yield FindingLine(finding.severity, text)


def _networks(table: RankTable) -> Iterator[str]:
    """The number of networks of each layer, and the first MAX_NETWORKS outer networks with their ranks."""
    inner = {(device.levels[0].layer, device.levels[0].instance) for device in table.every if device.levels}
    for layer, number in sorted(Counter(layer for layer, _ in inner).items()):
        networks = counted(number, "network")
        yield Message("show.inner", "layer {layer}: {networks}, drawn above", layer=layer, networks=networks)
    sizes = Counter((level.layer, level.instance) for device in table.every for level in device.levels[1:])
    for (layer, name), size in sorted(sizes.items())[:MAX_NETWORKS]:
        yield Message(
            "show.outer", "layer {layer}: {name}, {ranks}", layer=layer, name=name, ranks=counted(size, "rank")
        )
    if len(sizes) > MAX_NETWORKS:
        yield and_more(counted(len(sizes) - MAX_NETWORKS, "more network"))


def and_more(what: Message) -> Message:
    """That there are more than those that are drawn: `what` has their number."""
    return Message("show.more", "and {what}", what=what)


def _marks(findings: Sequence[Finding], table: RankTable) -> Mapping[Pointer, tuple[Finding, ...]]:
    """The findings on each device, server or super pod, by its place; the first of every rule."""
    if not findings:
        return {}
    places = {device.at for device in table.every} | {server.at for server in table.servers}
    places |= {pod.at for pod in table.super_pods or ()}
    marks: dict[Pointer, dict[str, Finding]] = {}
    for finding in findings:
        parents = (finding.pointer[:length] for length in range(len(finding.pointer), 0, -1))
        place = next((parent for parent in parents if parent in places), None)
        if place is not None:
            marks.setdefault(place, {}).setdefault(finding.rule, finding)
    return {place: tuple(by_rule.values()) for place, by_rule in marks.items()}


def host_of(server: Server, product: Product | None, marks: Mapping[Pointer, tuple[Finding, ...]]) -> Host:
    """A server as it is drawn: its cards in the groups that the product links, with the findings at their places."""
    if not (marks or (product and product.groups)):
        return Host(server.id, (tuple([Card(device.id, device.rank, _address(device)) for device in _by_id(server)]),))
    cards: dict[int, list[Card]] = {}
    for device in _by_id(server):
        cards.setdefault(device.id, []).append(Card(device.id, device.rank, _address(device), marks.get(device.at, ())))
    groups = product.groups if product else ()
    drawn = [
        tuple([card for device_id in group for card in cards.pop(device_id, [Card(device_id, None)])])
        for group in groups
    ]
    others = tuple([card for same in cards.values() for card in same])  # all cards, or those in no group
    if others or not drawn:
        drawn.append(others)
    # A network of version 2.0 has no entry in the file; its place is that of its first rank.
    has_own_place = all(device.at != server.at for device in server.devices[:1])
    return Host(server.id, tuple(drawn), marks.get(server.at, ()) if has_own_place else ())


def _by_id(server: Server) -> Sequence[Device]:
    return sorted(server.devices, key=lambda device: (device.id, device.rank))


def _address(device: Device) -> str:
    return device.ip or next((address.text for level in device.levels[:1] for address in level.addresses), "")


def _pods(table: RankTable, hosts: Sequence[Host], marks: Mapping[Pointer, tuple[Finding, ...]]) -> Iterator[Pod]:
    """The super pods in the order of the table, then servers without one; a server in two is shown in the first."""
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
    """Runs of consecutive uniform servers, as long as possible; a server with findings is a run of its own."""
    start = 0
    before: Sequence[Card] | None = None  # the cards of the last server of a run that the next one may continue
    for place, host in enumerate(hosts):
        cards = None if host.has_findings else host.cards
        if place and not (before is not None and cards is not None and _continues(before, cards)):
            yield Run(tuple(hosts[start:place]))
            start = place
        before = cards
    if hosts:
        yield Run(tuple(hosts[start:]))


def _continues(before: Sequence[Card], after: Sequence[Card]) -> bool:
    count = len(before)
    return [(card.id, (card.rank or 0) + count) for card in before] == [(card.id, card.rank) for card in after]


def pod_name(pod: Pod) -> Message:
    """A super pod, or the place of servers that are in none, in words."""
    if pod.id is None:
        return Message("show.no-pod", "in no super pod")
    return Message("show.pod", "super pod {name}", name=pod.id)


def ranks_of(run: Run) -> Message:
    """The ranks of several servers in words."""
    return Message("show.ranks", "ranks {ranks}", ranks=run.ranks)
