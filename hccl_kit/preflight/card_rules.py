"""Rules HK663 to HK671: whether the cards of all servers reach each other, and what is wrong with those that do not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from hccl_kit.base.message import Message
from hccl_kit.base.wording import counted, joined, listed
from hccl_kit.check.rule import Rule
from hccl_kit.discovery.hccn_ping import Pinged
from hccl_kit.preflight import card_readings
from hccl_kit.preflight.card_pings import Place, Plan
from hccl_kit.preflight.card_readings import Reasons, States, switch_of
from hccl_kit.preflight.card_state import NOTHING
from hccl_kit.preflight.card_verdict import Cause, Kind, Pair, causes
from hccl_kit.preflight.cluster_rules import folded
from hccl_kit.preflight.probes.cards import named
from hccl_kit.table.document import shown
from hccl_kit.table.finding import Finding

MAX_SHOWN = 8
"""Reasons, and pairs of servers, in the findings of one rule; the JSON form has every ping."""
_CABLE = Message(
    "HK664.fix", "clean or replace the module or the cable at both ends: hccn_tool -i N -optical -g shows them"
)


class CardRound(NamedTuple):
    """The states of all cards that were read, all pings, and the plan that they follow.

    `silent` are the servers whose cards were not asked, with the reason.
    """

    states: States
    pings: Sequence[tuple[Place, Place, str, Pinged]]
    plan: Plan = Plan()
    silent: Mapping[str, str] = NOTHING


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
        made = defaultdict[Place, int](int)
        for pair in results:
            for place in pair:
                made[place] += 1
        found = causes(results, bad.keys())
        for cause in found:
            if cause.kind != "pair":
                message = _explained(cause, link, states, bad, made)
                yield Finding(message, _HINTS.get(cause.kind, _LOOK), device=_device(cause))
        yield from _pairs([cause for cause in found if cause.kind == "pair"], link)


def weak_optics(subject: CardRound) -> Iterator[Finding]:
    """The optical module of a card is beyond its limits.

    What:           power, bias or signal-to-noise ratio of a lane is outside the alarm limits of MindCluster's toolkit,
                    a flag shows a lost signal, or the lanes differ by more than 3 dB.
    Why it matters: packets are damaged and sent again: the slowest card sets the speed of all, or the link is lost.
    Example:        card 5 of 10.0.0.3: Rx Power2 0.02 mW (accepted: 0.1445 to 2.3)
    Fix:            clean the connectors, then replace the module or the cable; low Rx Power can be the other end.
    HCCL:           no code; EI0006 or EI0009 if the link is lost.
    """
    yield from _of_cards(card_readings.weak_optics(subject.states), _CABLE)


def flapping(subject: CardRound) -> Iterator[Finding]:
    """The link of a card is lost again and again.

    What:           hccn_tool -link_stat records three or more losses of the link within a day, or its count rose during
                    this check.
    Why it matters: each loss stops an operator of HCCL for seconds, or ends the job.
    Example:        card 2 of 10.0.0.9: its link was lost 4 times within a day
    Fix:            replace the cable or the optical module; look at the log of the switch port.
    HCCL:           EI0009, error CQE, when a job runs.
    """
    hint = Message("HK665.fix", "replace the cable or the module, and look at the log of the switch port")
    yield from _of_cards(card_readings.flapping(subject.states), hint)


def wrong_cable(subject: CardRound) -> Iterator[Finding]:
    """The cable of a card ends in the wrong place.

    What:           by LLDP a cable ends at another card, or at a switch whose other cables are from another rail.
    Why it matters: cards of one rail are expected at one switch: with crossed cables they do not reach each other, or
                    only through switches that are not meant for it.
    Example:        card 0 of 10.0.0.4: its cable ends at "leaf-1", where the cards 1 of other servers are
    Fix:            swap the cables; hccn_tool -i N -lldp -g shows where each ends.
    HCCL:           no code; EI0006 if the networks of the rails are not connected.
    """
    hint = Message("HK666.fix", "swap the cables; hccn_tool -i N -lldp -g shows where each ends")
    yield from _of_cards(card_readings.wrong_cables(subject.states), hint)


def damaged_packets(subject: CardRound) -> Iterator[Finding]:
    """Damaged packets arrive at a card.

    What:           a counter of packets with a wrong checksum rose between the two readings of this check.
    Why it matters: these packets are sent again, which makes every operator with this card slow.
    Example:        card 1 of 10.0.0.2: 37 packets damaged during this check (mac_rx_fcs_err_pkt_num)
    Fix:            the cable, the module of the card, or that of the switch port is bad.
    HCCL:           no code; EI0009 if repeating does not help.
    """
    yield from _of_cards(card_readings.damaged_packets(subject.states), _CABLE)


def memory_errors(subject: CardRound) -> Iterator[Finding]:
    """The memory of a card has errors that cannot be corrected.

    What:           npu-smi info -t ecc counts double-bit errors since the start of the card.
    Why it matters: the program that uses the page ends, with 507054 or a wrong result.
    Example:        card 6 of 10.0.0.5: 2 errors of memory that could not be corrected since its start
    Fix:            restart the card, which takes the pages out of use; if the number grows, replace the card.
    HCCL:           no code; the runtime stops with 507054.
    """
    hint = Message("HK668.fix", "restart the card; if the errors come back, replace it: npu-smi info -t ecc -i NPU")
    yield from _of_cards(card_readings.memory_errors(subject.states), hint)


def slowed(subject: CardRound) -> Iterator[Finding]:
    """A busy card runs below its rated clock.

    What:           npu-smi shows a card that is at least 90 % busy with less than 90 % of its rated clock. npu-smi has
                    no field for the reason. A card that is idle lowers its clock too, so nothing is said about it.
    Why it matters: the slowest card sets the speed of the job.
    Example:        card 0 of 10.0.0.8: 1200 MHz of 1800, though it is busy
    Fix:            look at its temperature and power: npu-smi info -t temp -i NPU, npu-smi info -t power -i NPU.
    HCCL:           no code.
    """
    hint = Message("HK669.fix", "look at its temperature and power: npu-smi info -t temp -i NPU")
    yield from _of_cards(card_readings.slowed(subject.states), hint)


def pings_not_made(subject: CardRound) -> Iterator[Finding]:
    """Pings from card to card were not made, so nothing is known about them.

    What:           hccn_tool refused a ping, or did not end; or no other card has this one as its partner, for it has
                    no address, or a number that no other server has.
    Why it matters: what was not asked may be broken.
    Example:        card 3 of 10.0.0.2: 7 pings not made: permission denied (hccs_ping needs the user root)
    Fix:            run this as root on the servers, or with another version of the driver; --all-pairs also asks cards
                    of other numbers.
    HCCL:           no code.
    """
    reasons = defaultdict[Message, list[Place]](list)
    count = defaultdict[tuple[Place, str], int](int)
    for source, _, _, pinged in subject.pings:
        if pinged.reason is not None:
            count[source, pinged.reason] += 1
    for (place, reason), number in count.items():
        text = Message("HK670.refused", "{pings} not made: {reason}", pings=counted(number, "ping"), reason=reason)
        reasons[text].append(place)
    if subject.plan.unpaired:
        reasons[Message("HK670.unpaired", "no other card asks it")] = [*subject.plan.unpaired]
    for reason, servers in _by_reason(subject.silent).items():
        yield Finding(
            Message(
                "HK670.silent", "{servers}: the cards were not asked: {reason}", servers=folded(servers), reason=reason
            )
        )
    hint = Message("HK670.fix", "run it as root on the servers; --all-pairs also asks cards of other numbers")
    yield from _grouped(reasons, hint)


def not_read(subject: CardRound) -> Iterator[Finding]:
    """The state of a card was not read.

    What:           a tool of the driver did not give a reading, such as that of the optical module of a copper cable.
    Why it matters: this part of the card was not checked.
    Example:        card 3 of 10.0.0.2: optics not read: Optical module is not present.
    Fix:            none, if the card has no such part or the driver is too old to read it.
    HCCL:           no code.
    """
    reasons = defaultdict[Message, list[Place]](list)
    for place, state in subject.states.items():
        for name, reason in state.unread.items():
            reasons[Message("HK671.reading", "{name} not read: {reason}", name=name, reason=reason)].append(place)
    yield from _grouped(reasons, None)


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
        failed=counted(len(cause.failed), f"{link} ping"),
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


def _by_reason(silent: Mapping[str, str]) -> Mapping[str, Sequence[str]]:
    by_reason = defaultdict[str, list[str]](list)
    for server, reason in silent.items():
        by_reason[reason].append(server)
    return by_reason


def _pairs(found: Sequence[Cause], link: str) -> Iterator[Finding]:
    """The pings whose two ends cannot be told apart, by pair of servers."""
    failed = [pair for cause in found for pair in cause.failed]
    by_servers = defaultdict[frozenset[str], list[Pair]](list)
    for pair in failed:
        by_servers[frozenset(place.server for place in pair)].append(pair)
    texts = [_between(pairs) for pairs in by_servers.values()]
    if texts:
        message = Message(
            "HK663.pair",
            "{failed} failed, and nothing tells which end is at fault: {pairs}",
            failed=counted(len(failed), f"{link} ping"),
            pairs=listed(texts, MAX_SHOWN),
        )
        hint = Message("HK663.pair.fix", "--all-pairs tries more; look at the cables and addresses of both ends")
        yield Finding(message, hint)


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


def _of_cards(reasons: Reasons, hint: Message) -> Iterator[Finding]:
    by_text = defaultdict[Message, list[Place]](list)
    for place, reason in reasons.items():
        by_text[reason].append(place)
    yield from _grouped(by_text, hint)


def _grouped(reasons: Mapping[Message, Sequence[Place]], hint: Message | None) -> Iterator[Finding]:
    """A finding for each text, for the cards that it is about; the most frequent ones, and how many others."""
    texts = sorted(reasons.items(), key=lambda item: -len(item[1]))
    for text, places in texts[:MAX_SHOWN]:
        message = Message("preflight.cards-of-servers", "{where}: {text}", where=in_words(places), text=text)
        yield Finding(message, hint, device=places[0].card if len(places) == 1 else None)
    rest = {place for _, places in texts[MAX_SHOWN:] for place in places}
    if rest:
        yield Finding(Message("preflight.cards-more", "and other readings of {where}", where=in_words(rest)), hint)


def in_words(places: Iterable[Place]) -> str:
    """`card 3 of 10.0.0.2 and cards 0 to 7 of 10.0.0.[3-5]`; servers with the same cards are together."""
    cards = defaultdict[str, set[int]](set)
    for place in places:
        cards[place.server].add(place.card)
    servers = defaultdict[tuple[int, ...], list[str]](list)
    for server, ids in cards.items():
        servers[tuple(sorted(ids))].append(server)
    return joined(
        Message("preflight.cards-of", "{cards} of {servers}", cards=named(ids), servers=folded(names))
        for ids, names in servers.items()
    )


CARD_RULES: tuple[Rule[[CardRound]], ...] = (
    Rule("HK663", "cards-not-reached", unreachable, hccl_error="EI0006"),
    Rule("HK664", "weak-optics", weak_optics, severity="warning"),
    Rule("HK665", "flapping-link", flapping, severity="warning"),
    Rule("HK666", "wrong-cable", wrong_cable, severity="warning"),
    Rule("HK667", "damaged-packets", damaged_packets, severity="warning"),
    Rule("HK668", "card-memory-errors", memory_errors, severity="warning"),
    Rule("HK669", "slowed-card", slowed, severity="warning"),
    Rule("HK670", "pings-not-made", pings_not_made, severity="warning"),
    Rule("HK671", "card-not-read", not_read, severity="note"),
)
"""They run with --cards, on what all servers answered."""
