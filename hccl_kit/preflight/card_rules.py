"""All rules of `--cards`: HK663 of their pings, those of their readings, and HK670 and HK671 of what is not known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from hccl_kit.base.grouped import grouped
from hccl_kit.base.message import Message
from hccl_kit.base.wording import counted
from hccl_kit.check.rule import Rule
from hccl_kit.preflight import card_readings
from hccl_kit.preflight.card_reach import unreachable
from hccl_kit.preflight.card_round import MAX_SHOWN, CardRound, Place, Reasons, States, in_words
from hccl_kit.preflight.cluster_rules import folded
from hccl_kit.table.finding import Finding, finding


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
    for reason, servers in grouped((reason, server) for server, reason in subject.silent.items()).items():
        yield finding(
            "HK670.silent", "{servers}: the cards were not asked: {reason}", servers=folded(servers), reason=reason
        )
    count = Counter((source, pinged.reason) for source, _, _, pinged in subject.pings if pinged.reason is not None)
    reasons = [
        (Message("HK670.refused", "{pings} not made: {reason}", pings=counted(number, "ping"), reason=reason), place)
        for (place, reason), number in count.items()
    ]
    unpaired = Message("HK670.unpaired", "no other card asks it")
    hint = Message("HK670.fix", "run it as root on the servers; --all-pairs also asks cards of other numbers")
    yield from _of_cards([*reasons, *((unpaired, place) for place in subject.plan.unpaired)], hint)


def not_read(subject: CardRound) -> Iterator[Finding]:
    """The state of a card was not read.

    What:           a tool of the driver did not give a reading, such as that of the optical module of a copper cable.
    Why it matters: this part of the card was not checked.
    Example:        card 3 of 10.0.0.2: optics not read: Optical module is not present.
    Fix:            none, if the card has no such part or the driver is too old to read it.
    HCCL:           no code.
    """
    reasons = (
        (Message("HK671.reading", "{name} not read: {reason}", name=name, reason=reason), place)
        for place, state in subject.states.items()
        for name, reason in state.unread.items()
    )
    yield from _of_cards(reasons, None)


def _of_cards(reasons: Iterable[tuple[Message, Place]], hint: Message | None) -> Iterator[Finding]:
    """A finding for each reason, for the cards that have it; the most frequent ones, and how many others."""
    texts = sorted(grouped(reasons).items(), key=lambda item: -len(item[1]))
    for text, places in texts[:MAX_SHOWN]:
        yield finding(
            "preflight.cards-of-servers",
            "{where}: {text}",
            hint=hint,
            device=places[0].card if len(places) == 1 else None,
            where=in_words(places),
            text=text,
        )
    rest = {place for _, places in texts[MAX_SHOWN:] for place in places}
    if rest:
        yield finding("preflight.cards-more", "and other readings of {where}", hint=hint, where=in_words(rest))


def _reading(number: str, name: str, reasons: Callable[[States], Reasons], hint: Message) -> Rule[[CardRound]]:
    """The rule of a reading, which has its page."""

    def check(subject: CardRound) -> Iterator[Finding]:
        yield from _of_cards(((reason, place) for place, reason in reasons(subject.states).items()), hint)

    check.__doc__ = reasons.__doc__
    return Rule(number, name, check, severity="warning")


_CABLE = Message(
    "HK664.fix", "clean or replace the module or the cable at both ends: hccn_tool -i N -optical -g shows them"
)
_PORT = Message("HK665.fix", "replace the cable or the module, and look at the log of the switch port")
_SWAP = Message("HK666.fix", "swap the cables; hccn_tool -i N -lldp -g shows where each ends")
_RESTART = Message("HK668.fix", "restart the card; if the errors come back, replace it: npu-smi info -t ecc -i NPU")
_HEAT = Message("HK669.fix", "look at its temperature and power: npu-smi info -t temp -i NPU")
CARD_RULES: tuple[Rule[[CardRound]], ...] = (
    Rule("HK663", "cards-not-reached", unreachable, hccl_error="EI0006"),
    _reading("HK664", "weak-optics", card_readings.weak_optics, _CABLE),
    _reading("HK665", "flapping-link", card_readings.flapping, _PORT),
    _reading("HK666", "wrong-cable", card_readings.wrong_cables, _SWAP),
    _reading("HK667", "damaged-packets", card_readings.damaged_packets, _CABLE),
    _reading("HK668", "card-memory-errors", card_readings.memory_errors, _RESTART),
    _reading("HK669", "slowed-card", card_readings.slowed, _HEAT),
    Rule("HK670", "pings-not-made", pings_not_made, severity="warning"),
    Rule("HK671", "card-not-read", not_read, severity="note"),
)
"""They run with --cards, on what all servers answered."""
