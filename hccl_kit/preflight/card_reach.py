"""Rule HK663: whether the cards of all servers reach each other, and what explains the pings that were lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from hccl_kit.base.grouped import grouped
from hccl_kit.base.message import Message
from hccl_kit.base.wording import listed, plural
from hccl_kit.preflight import card_readings
from hccl_kit.preflight.card_readings import switch_of
from hccl_kit.preflight.card_round import MAX_SHOWN, CardRound, Place, Reasons, States, in_words
from hccl_kit.preflight.card_verdict import Cause, Kind, Pair, causes
from hccl_kit.table.document import shown
from hccl_kit.table.finding import Finding, finding


def unreachable(subject: CardRound) -> Iterator[Finding]:
    """Cards do not reach each other.

    What:           a ping from card to card lost packets. The finding names what explains all the lost pings: a card
                    and its switch port, a server, a rail (the cards of one number), a part of the network, or, if
                    nothing tells the two sides of a ping apart, both.
    Why it matters: HCCL connects these cards, and waits until its timeout.
    Example:        card 3 of 10.0.0.7: none of its 14 pings was answered; its cable ends at "leaf-3" port "1/1/20"
    Fix:            look at the named card first: hccn_tool -i 3 -link -g, -optical -g, -lldp -g; then at the other end
                    of its cable.
    HCCL:           EI0006 after HCCL_CONNECT_TIMEOUT.
    """
    for link in dict.fromkeys(link for _, _, link, _ in subject.pings):
        states = subject.states if link == "RoCE" else {}  # HCCS has other ports, which the tools do not read
        bad = _bad_ports(states)
        results = {
            (source, target): pinged.is_answered
            for source, target, of_link, pinged in subject.pings
            if of_link == link and pinged.reason is None
        }
        made = Counter(place for pair in results for place in pair)
        known = causes(results, bad.keys())
        for cause in known:
            if cause.kind != "pair":
                message = _explained(cause, link, states, bad, made)
                yield Finding(message, _HINTS.get(cause.kind, _LOOK), device=_device(cause))
        yield from _pairs([cause for cause in known if cause.kind == "pair"], link)


def _bad_ports(states: States) -> Reasons:
    """The cards whose port is known to be bad, with the reason."""
    down = Message("HK663.down", "its link is down")
    return {
        **card_readings.damaged_packets(states),
        **card_readings.wrong_cables(states),
        **card_readings.flapping(states),
        **card_readings.weak_optics(states),
        **{place: down for place, state in states.items() if state.link == "DOWN"},
    }


class _Words(NamedTuple):
    """The parts of a message about a cause, in words."""

    where: str
    others: str
    failed: str
    made: int
    rail: int
    reason: str
    switches: str


def _explained(cause: Cause, link: str, states: States, reasons: Reasons, made: Mapping[Place, int]) -> Message:
    first = cause.places[0]
    words = _Words(
        where=in_words(cause.places),
        others=in_words(cause.others) if cause.others else "",
        failed=_pings(len(cause.failed), link),
        made=made[first],
        rail=first.card,
        reason=reasons.get(first, ""),
        switches=_switches(cause.places, states),
    )
    return _TEXTS[cause.kind](words)


_TEXTS: Mapping[Kind, Callable[[_Words], Message]] = {
    "all": lambda words: Message(
        "HK663.all", "no ping was answered ({failed} failed), so nothing tells a cause", failed=words.failed
    ),
    "known": lambda words: Message(
        "HK663.known",
        "{where}: {failed} of {made} failed: {reason}{switches}",
        where=words.where,
        failed=words.failed,
        made=words.made,
        reason=words.reason,
        switches=words.switches,
    ),
    "server": lambda words: Message(
        "HK663.server",
        "{where}: no other server reaches them, and they reach none ({failed} failed){switches}",
        where=words.where,
        failed=words.failed,
        switches=words.switches,
    ),
    "rail": lambda words: Message(
        "HK663.rail",
        "rail {rail}: no card {rail} reaches that of another server ({failed} failed){switches}",
        rail=words.rail,
        failed=words.failed,
        switches=words.switches,
    ),
    "card": lambda words: Message(
        "HK663.card",
        "{where}: it reaches no card, and none reaches it ({failed} failed){switches}",
        where=words.where,
        failed=words.failed,
        switches=words.switches,
    ),
    "address": lambda words: Message(
        "HK663.address",
        "{where}: it reaches others, and none reaches it at its address in the table ({failed} failed)",
        where=words.where,
        failed=words.failed,
    ),
    "route": lambda words: Message(
        "HK663.route",
        "{where}: others reach it, and it reaches none ({failed} failed)",
        where=words.where,
        failed=words.failed,
    ),
    "sides": lambda words: Message(
        "HK663.sides",
        "{where} and {others} do not reach each other ({failed} failed), but among themselves{switches}",
        where=words.where,
        others=words.others,
        failed=words.failed,
        switches=words.switches,
    ),
    "loss": lambda words: Message(
        "HK663.loss",
        "{where}: {failed} of {made} failed{switches}",
        where=words.where,
        failed=words.failed,
        made=words.made,
        switches=words.switches,
    ),
}


_LOOK = Message("HK663.fix", "hccn_tool -i N -link -g, -optical -g and -lldp -g there; then the other end of the cable")
_HINTS = {
    "server": Message("HK663.server.fix", "look at its switch, and compare its driver and TLS setting with the others"),
    "rail": Message("HK663.rail.fix", "look at the switch of this rail"),
    "sides": Message("HK663.sides.fix", "look at the links between the switches of the two parts"),
    "address": Message(
        "HK663.address.fix",
        "compare the table with hccn_tool -i N -ip -g there; generate the table again if it differs",
    ),
    "route": Message("HK663.route.fix", "hccn_tool -i N -gateway -g, -route -g and the netmask there"),
    "all": Message(
        "HK663.all.fix", "try one by hand: hccn_tool -i 0 -ping -g address A.B.C.D; a network may drop all pings"
    ),
}


def _pairs(of_pairs: Sequence[Cause], link: str) -> Iterator[Finding]:
    """The pings whose two ends cannot be told apart, by pair of servers."""
    failed = [pair for cause in of_pairs for pair in cause.failed]
    by_servers = grouped((frozenset(place.server for place in pair), pair) for pair in failed)
    texts = [_between(pairs) for pairs in by_servers.values()]
    if texts:
        yield finding(
            "HK663.pair",
            "{failed} failed, and nothing tells which end is at fault: {pairs}",
            fix="--all-pairs tries more; look at the cables and addresses of both ends",
            failed=_pings(len(failed), link),
            pairs=listed(texts, MAX_SHOWN),
        )


def _pings(number: int, link: str) -> Message:
    return Message("HK663.pings", "{number} {link} {noun}", number=number, link=link, noun=plural("ping", number))


def _between(pairs: Sequence[Pair]) -> Message:
    """The cards of two servers; with "to" if all pings went in one direction."""
    (source, target), *_ = pairs
    first = {place for pair in pairs for place in pair if place.server == source.server}
    second = {place for pair in pairs for place in pair if place.server != source.server} or {target}
    is_one_way = all(pair[0].server == source.server != pair[1].server for pair in pairs)
    if is_one_way:
        return Message("HK663.one-way", "{first} to {second}", first=in_words(first), second=in_words(second))
    return Message("HK663.both-ways", "{first} with {second}", first=in_words(first), second=in_words(second))


def _switches(places: Sequence[Place], states: States) -> str:
    """Where the cables of these cards end, for the end of a message: for one card with the port."""
    if len(places) == 1:
        switch = switch_of(states.get(places[0]))
        return Message("HK663.switch", "; its cable ends at {switch}", switch=switch) if switch else ""
    neighbours = [state.neighbour for place in places if (state := states.get(place)) and state.neighbour]
    systems = dict.fromkeys(shown(neighbour.system) for neighbour in neighbours if neighbour.system)
    return Message("HK663.switches", "; their cables end at {switches}", switches=listed(systems, 4)) if systems else ""


def _device(cause: Cause) -> int | None:
    return cause.places[0].card if len(cause.places) == 1 else None
