"""Rules HK664 to HK671: what is wrong with single cards, and what is not known; and all rules of `--cards`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from hccl_kit.base.message import Message
from hccl_kit.base.wording import counted
from hccl_kit.check.rule import Rule
from hccl_kit.preflight import card_readings
from hccl_kit.preflight.card_pings import Place
from hccl_kit.preflight.card_reach import unreachable
from hccl_kit.preflight.card_readings import Reasons
from hccl_kit.preflight.card_round import MAX_SHOWN, CardRound, in_words
from hccl_kit.preflight.cluster_rules import folded
from hccl_kit.table.finding import Finding

_CABLE = Message(
    "HK664.fix", "clean or replace the module or the cable at both ends: hccn_tool -i N -optical -g shows them"
)


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


def _by_reason(silent: Mapping[str, str]) -> Mapping[str, Sequence[str]]:
    by_reason = defaultdict[str, list[str]](list)
    for server, reason in silent.items():
        by_reason[reason].append(server)
    return by_reason


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
