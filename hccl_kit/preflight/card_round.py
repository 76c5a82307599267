"""Which card pings which, in rounds; what is known of the port and the memory of cards, and what their pings said.

In a round every card asks at most one other, and is asked by at most one. In round k each server asks the k-th next
one, so N servers need N - 1 rounds, and both directions are tried. Cards ask those of their rail, which are the cards
with their number on the other servers; or all that their network connects. Inside a super pod of Atlas A3 they ask over
HCCS, and over RoCE only between super pods, as HCCL connects them. The answers travel as JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from hccl_kit.base.errors import KitError
from hccl_kit.base.grouped import grouped
from hccl_kit.base.message import Message
from hccl_kit.base.network import ip_of
from hccl_kit.base.wording import joined
from hccl_kit.discovery.hccn_answers import Link, LinkHistory, Neighbour, Pinged
from hccl_kit.preflight.answer import assert_matches
from hccl_kit.preflight.cluster_rules import folded
from hccl_kit.preflight.node import ATLAS_950
from hccl_kit.preflight.probes.cards import named
from hccl_kit.table.document import shown
from hccl_kit.table.model import Device, RankTable, Server
from hccl_kit.table.products import Product

USUAL, LONGEST = 3, 10
"""Seconds that a ping of three packets is assumed to take, for estimates and for the limit of a round.

Not measured: no public output has the duration.
"""
MAX_PINGS = 600_000
"""Pings of one check, which the asking machine keeps in memory: of 256 servers of 8 cards, or of all pairs of 96."""


class Place(NamedTuple):
    """A card: its server in the table and its physical id."""

    server: str
    card: int


class Ping(NamedTuple):
    """A question of one card to another; `address` is an IP address, or for HCCS an SDID."""

    source: Place
    target: Place
    link: Link
    address: str


class _Mesh(NamedTuple):
    """Servers whose cards reach each other over `link`; a row has the addresses of a server by card.

    `inside` has the super pod of a server: cards of one do not use this link.
    """

    link: Link
    rows: Mapping[str, Mapping[int, str]]
    inside: Mapping[str, str]

    def joins(self, source: str, target: str) -> bool:
        """Whether cards of these two servers use the link."""
        return source not in self.inside or self.inside[source] != self.inside.get(target)


def rounds_of(table: RankTable, product: Product, server: str, *, all_pairs: bool) -> Iterator[tuple[Ping, ...]]:
    """What the cards of a server ask, round by round. In no round is a card asked twice, over all servers."""
    for mesh in _meshes(table):
        names = [*mesh.rows]
        if server not in mesh.rows:
            continue
        columns = sorted({card for row in mesh.rows.values() for card in row})
        inside = mesh.link == "HCCS" and (all_pairs or len(names) == 1)
        at = names.index(server)
        for step in range(0 if inside else 1, len(names)):
            target = names[(at + step) % len(names)]
            for shift in range(0 if step else 1, len(columns) if all_pairs or step == 0 else 1):
                pings = _between(mesh, server, target, columns, shift) if mesh.joins(server, target) else ()
                yield tuple(ping for ping in pings if _connects(product, ping))


class Plan(NamedTuple):
    """How many rounds and pings a check has; `unpaired` are the cards that no other card asks.

    That is a card without address, or with a number that no other server has.
    """

    all_pairs: bool = False
    rounds: int = 0
    pings: int = 0
    unpaired: tuple[Place, ...] = ()


def plan_of(table: RankTable, product: Product, *, all_pairs: bool) -> Plan:
    """What `rounds_of` all servers comes to. Raises KitError for Atlas 950, or above MAX_PINGS pings."""
    if table.version == ATLAS_950:
        raise KitError(
            "preflight.pings-of-950",
            "version 2.0 tables name no hosts, and do not say which EID of a card reaches which of another, so --cards "
            "cannot ask them",
            fix="on each server: hccl-kit preflight TABLE --server {server} checks its cards, hccn_tool -g -ub_connect "
            "-i N shows the ports of one, hccn_tool -t -ub_ping -i N -src_eid EID -dst_eid EID pings along a link",
            server=shown(table.servers[0].id),
        )
    rounds, pings, asked = [0], 0, set[Place]()
    for server in table.servers:
        asks = [*rounds_of(table, product, server.id, all_pairs=all_pairs)]
        rounds.append(len(asks))
        pings += sum(map(len, asks))
        asked.update(ping.target for round_of_server in asks for ping in round_of_server)
    if pings > MAX_PINGS:
        raise KitError(
            "preflight.too-many-pings",
            "{pings} pings, in {rounds} rounds; at most {most} are made",
            fix="check the servers in parts, each with a table of its own: hccl-kit split",
            pings=pings,
            rounds=max(rounds),
            most=MAX_PINGS,
        )
    places = [Place(server.id, device.id) for server, device in table.devices()]
    return Plan(all_pairs, max(rounds), pings, tuple(place for place in places if place not in asked))


def _between(mesh: _Mesh, source: str, target: str, columns: Sequence[int], shift: int) -> Iterator[Ping]:
    for index, card in enumerate(columns):
        other = columns[(index + shift) % len(columns)]
        if card in mesh.rows[source] and other in mesh.rows[target]:
            yield Ping(Place(source, card), Place(target, other), mesh.link, mesh.rows[target][other])


def _connects(product: Product, ping: Ping) -> bool:
    """Whether a network has both cards: over RoCE those of one plane, where a product has several networks."""
    planes = product.planes if ping.link == "RoCE" else 1
    return ping.source.card % planes == ping.target.card % planes


def _meshes(table: RankTable) -> Iterator[_Mesh]:
    by_id = {server.id: server for server in table.servers}
    for pod in table.super_pods or ():
        servers = [by_id[member.id] for member in pod.servers if member.id in by_id]
        yield _Mesh("HCCS", _rows(servers, lambda device: None if device.sdid is None else str(device.sdid)), {})
    pods = {member.id: pod.id for pod in table.super_pods or () for member in pod.servers}
    yield _Mesh("RoCE", _rows(table.servers, _roce_address), pods)


def _rows(servers: Sequence[Server], address: Callable[[Device], str | None]) -> Mapping[str, Mapping[int, str]]:
    rows = {
        server.id: {device.id: text for device in server.devices if (text := address(device)) is not None}
        for server in servers
    }
    return {server: row for server, row in rows.items() if row}


def _roce_address(device: Device) -> str | None:
    """The first address of the network port; None if the table has only that inside the super pod."""
    text = (device.ip or "").partition(",")[0].partition("%")[0].strip()
    address = ip_of(text)
    if address is None:
        return None
    if device.sdid is not None and address.version == 4 and _sdid(address.packed) == device.sdid:
        return None
    return str(address)


def _sdid(packed: bytes) -> int | None:
    """The SDID that hccn_tool makes of 192.b.c.d; None for other addresses. Source: tool_cmd.c, 2026-07-21."""
    first, pod, network, host = packed
    chip = 199 - host
    return pod << 22 | chip // 2 << 18 | (network - 2) << 16 | chip if first == 192 and chip >= 0 else None


NOTHING: Mapping[str, str] = MappingProxyType({})


class CardState(NamedTuple):
    """One card. A reading that the tools did not give is None, and `unread` has the reason under its name.

    `link` is UP or DOWN, `speed` that of the port, such as "200000 Mb/s". `optics` are readings by name, in mW, mA and
    dB. `history` is from before the pings, and `new_downs` are the losses of the link during them. `counters` are those
    of errors, by how much they rose during the pings. `memory` and `clock` are rows of npu-smi.
    """

    link: str | None = None
    speed: str | None = None
    history: LinkHistory | None = None
    new_downs: int = 0
    optics: Mapping[str, float] | None = None
    neighbour: Neighbour | None = None
    counters: Mapping[str, int] | None = None
    memory: Mapping[str, int] | None = None
    clock: Mapping[str, int] | None = None
    unread: Mapping[str, str] = NOTHING


States = Mapping[Place, CardState]
Reasons = Mapping[Place, Message]
"""The cards that are not well, with the reason."""


class CardsAnswer(NamedTuple):
    """The cards of one server, and their pings in the order of the rounds. `error`: why there is nothing."""

    states: Mapping[int, CardState] = MappingProxyType({})
    pings: Sequence[tuple[int, Place, str, Pinged]] = ()
    error: str | None = None


def to_value(answer: CardsAnswer) -> dict[str, Any]:
    """The answer as a JSON value."""
    return {
        "cards": {
            str(card): {
                **state._asdict(),
                "unread": dict(state.unread),
                "history": state.history._asdict() if state.history else None,
                "neighbour": state.neighbour._asdict() if state.neighbour else None,
            }
            for card, state in answer.states.items()
        },
        "pings": [[card, *target, link, *pinged] for card, target, link, pinged in answer.pings],
    }


def from_value(value: Any) -> CardsAnswer:
    """The answer in a value that another server sent. Raises KitError if it is not one.

    Law: `from_value(to_value(answer)) == answer`.
    """
    assert_matches(value, "preflight_report", "cards")
    states = {int(card): _state(state) for card, state in value["cards"].items()}
    pings = [
        (card, Place(server, other), link, Pinged(sent, received, fastest, reason))
        for card, server, other, link, sent, received, fastest, reason in value["pings"]
    ]
    return CardsAnswer(states, pings)


def _state(value: Mapping[str, Any]) -> CardState:
    history, neighbour = value["history"], value["neighbour"]
    state = CardState(**{name: value[name] for name in CardState._fields})
    return state._replace(
        history=LinkHistory(tuple(history["downs"]), history["down_count"]) if history else None,
        neighbour=Neighbour(**{name: neighbour[name] for name in Neighbour._fields}) if neighbour else None,
    )


MAX_SHOWN = 8
"""Reasons, and pairs of servers, in the findings of one rule; the JSON form has every ping."""


class CardRound(NamedTuple):
    """The states of all cards that were read, all pings, and the plan that they follow.

    `silent` are the servers whose cards were not asked, with the reason.
    """

    states: States
    pings: Sequence[tuple[Place, Place, str, Pinged]]
    plan: Plan = Plan()
    silent: Mapping[str, str] = NOTHING


def in_words(places: Iterable[Place]) -> str:
    """`card 3 of 10.0.0.2 and cards 0 to 7 of 10.0.0.[3-5]`; servers with the same cards are together."""
    cards = grouped(places)
    servers = grouped((tuple(sorted({*ids})), server) for server, ids in cards.items())
    return joined(
        Message("preflight.cards-of", "{cards} of {servers}", cards=named(ids), servers=folded(names))
        for ids, names in servers.items()
    )
