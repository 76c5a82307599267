"""What is wrong with the port, the cable or the memory of a card, by its readings: pure functions of all cards.

Each gives the cards that are not well, with the reason in words.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from hccl_kit.base.message import Message
from hccl_kit.base.origin import Origin
from hccl_kit.base.wording import counted, listed
from hccl_kit.preflight.card_pings import Place
from hccl_kit.preflight.card_state import CardState
from hccl_kit.table.document import shown

States = Mapping[Place, CardState]
Reasons = Mapping[Place, Message]

TOOLKIT = Origin("threshold_config.py of ascend_fd_tk in mind-cluster, 2026-08-21", "2026-11-27")
OURS = Origin("our choice: no public source has a number for a card", "2026-11-28")


class Limit(NamedTuple):
    """The readings of an optical module with these names are well from `low` to `high`, both included."""

    name: re.Pattern[str]
    low: float
    high: float
    unit: str
    origin: Origin = TOOLKIT


LIMITS = (
    Limit(re.compile(r"Tx Power[0-9]?"), 0.2, 2.5, "mW"),
    Limit(re.compile(r"Rx Power[0-9]?"), 0.1445, 2.3, "mW"),
    Limit(re.compile(r"Tx Bias[0-9]?"), 6.0, 10.0, "mA"),
    Limit(re.compile(r"(?:Host|Media) SNR Lane[0-9]"), 18.0, math.inf, "dB"),
    Limit(re.compile(r"[TR]x Lo[SsLl] Flag"), 0.0, 0.0, ""),
)
"""Beyond these the toolkit of MindCluster raises an alarm, for the modules of A2 and A3."""
SPREAD = 3.0
"""The most dB between the lanes of a module (TOOLKIT)."""
FLAPS, DAY = 3, 86_400
"""Losses of the link within the seconds of a day that count as flapping (OURS): a restart of a server has one."""
DAMAGE = ("mac_rx_fcs_err_pkt_num", "mac_rx_bad_pkt_num")
"""Counters of packets that arrive damaged: of this cable, its two modules, or the port of the switch."""
_DOUBLE_BIT = "Double Bit Error Count"
_BUSY, _SLOW = 90, 0.9


def weak_optics(states: States) -> Reasons:
    """The cards whose optical module has a reading beyond its limit, or lanes that differ too much."""
    reasons = {}
    for place, state in states.items():
        if wrong := [*_beyond(state.optics or {}), *_uneven(state.optics or {})]:
            reasons[place] = Message("HK664.readings", "{readings}", readings=listed(wrong, 3))
    return reasons


def flapping(states: States) -> Reasons:
    """The cards whose link is lost again and again, or was lost during the pings."""
    reasons = {}
    for place, state in states.items():
        recent = sum(age <= DAY for age in state.history.downs) if state.history else 0
        if state.new_downs:
            reasons[place] = Message(
                "HK665.now", "its link was lost {times} during this check", times=_times(state.new_downs)
            )
        elif recent >= FLAPS:
            reasons[place] = Message("HK665.day", "its link was lost {times} within a day", times=_times(recent))
    return reasons


def wrong_cables(states: States) -> Reasons:
    """The cards whose cable ends at a card, or at a switch of another rail."""
    systems = defaultdict[str, Counter[int]](Counter)
    for place, state in states.items():
        if state.neighbour and not state.neighbour.is_card:
            systems[state.neighbour.system][place.card] += 1
    rail_of = {system: rail for system, rails in systems.items() if (rail := _majority(rails)) is not None}
    reasons = {}
    for place, state in states.items():
        if state.neighbour is None:
            continue
        rail = rail_of.get(state.neighbour.system, place.card)
        if state.neighbour.is_card:
            reasons[place] = Message("HK666.card", "its cable ends at another card, not at a switch")
        elif rail != place.card and place.card in rail_of.values():
            reasons[place] = Message(
                "HK666.rail",
                "its cable ends at {switch}, where the cards {rail} of other servers are",
                switch=switch_of(state),
                rail=rail,
            )
    return reasons


def damaged_packets(states: States) -> Reasons:
    """The cards at which damaged packets arrived during the pings."""
    reasons = {}
    for place, state in states.items():
        rose = {name: (state.counters or {}).get(name, 0) for name in DAMAGE}
        if most := max(rose.values()):
            name = max(rose, key=lambda name: rose[name])
            reasons[place] = Message(
                "HK667.damaged", "{count} damaged during this check ({name})", count=counted(most, "packet"), name=name
            )
    return reasons


def memory_errors(states: States) -> Reasons:
    """The cards whose memory has errors that could not be corrected, since their start."""
    reasons = {}
    for place, state in states.items():
        count = sum(number for name, number in (state.memory or {}).items() if name.endswith(_DOUBLE_BIT))
        pages = sum(
            number for name, number in (state.memory or {}).items() if name.endswith("Double Bit Isolated Pages Count")
        )
        if count:
            reasons[place] = Message(
                "HK668.errors",
                "{errors} of memory that could not be corrected since its start, {pages} taken out of use",
                errors=counted(count, "error"),
                pages=counted(pages, "page"),
            )
    return reasons


def slowed(states: States) -> Reasons:
    """The cards that are busy and run below their rated clock. Of an idle card nothing can be said."""
    reasons = {}
    for place, state in states.items():
        clock = state.clock or {}
        rated, now = clock.get("Aicore Freq(MHZ)", 0), clock.get("Aicore curFreq(MHZ)", 0)
        if clock.get("Aicore Usage Rate(%)", 0) >= _BUSY and 0 < now < _SLOW * rated:
            reasons[place] = Message("HK669.clock", "{now} MHz of {rated}, though it is busy", now=now, rated=rated)
    return reasons


def switch_of(state: CardState | None) -> str | None:
    """The switch and the port at the other end of the cable; None if it is not known."""
    if state is None or state.neighbour is None or not state.neighbour.system:
        return None
    system, port = shown(state.neighbour.system), state.neighbour.port
    return Message("preflight.port-of", "{switch} port {port}", switch=system, port=shown(port)) if port else system


def _beyond(optics: Mapping[str, float]) -> Iterator[Message]:
    for name, value in optics.items():
        limit = next((limit for limit in LIMITS if limit.name.fullmatch(name)), None)
        if limit and not limit.low <= value <= limit.high:
            reading = f"{value:g} {limit.unit}".rstrip()
            yield Message(
                "HK664.beyond",
                "{name} {reading} (accepted: {limit})",
                name=name,
                reading=reading,
                limit=_accepted(limit),
            )


def _accepted(limit: Limit) -> str:
    if not limit.high:
        return "0"
    if limit.high == math.inf:
        return Message("HK664.least", "at least {least:g}", least=limit.low)
    return Message("HK664.range", "{least:g} to {most:g}", least=limit.low, most=limit.high)


def _uneven(optics: Mapping[str, float]) -> Iterator[Message]:
    for prefix in ("Tx Power", "Rx Power"):
        lanes = [value for name, value in optics.items() if re.fullmatch(rf"{prefix}[0-9]", name)]
        if len(lanes) > 1 and min(lanes) > 0:
            spread = 10 * math.log10(max(lanes) / min(lanes))
            if spread > SPREAD:
                yield Message(
                    "HK664.lanes",
                    "the lanes of {name} differ by {spread:.1f} dB (accepted: {most:g})",
                    name=prefix,
                    spread=spread,
                    most=SPREAD,
                )


def _majority(rails: Counter[int]) -> int | None:
    """The rail of more than half of the cards at a switch, two at least; None if there is none."""
    ((rail, count),) = rails.most_common(1)
    return rail if count > 1 and count > rails.total() / 2 else None


def _times(number: int) -> Message:
    if number == 1:
        return Message("preflight.once", "once")
    return Message("preflight.times", "{number} times", number=number)
