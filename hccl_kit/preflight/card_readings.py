"""Rules HK664 to HK669: what is wrong with the port, the cable or the memory of a card, by its readings.

Each is a pure function of all cards, and gives those that are not well, with the reason in words.
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
from hccl_kit.preflight.card_round import CardState, Reasons, States
from hccl_kit.table.document import shown

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
    """The optical module of a card is beyond its limits.

    What:           power, bias or signal-to-noise ratio of a lane is outside the alarm limits of MindCluster's toolkit,
                    a flag shows a lost signal, or the lanes differ by more than 3 dB.
    Why it matters: packets are damaged and sent again: the slowest card sets the speed of all, or the link is lost.
    Example:        card 5 of 10.0.0.3: Rx Power2 0.02 mW (accepted: 0.1445 to 2.3)
    Fix:            clean the connectors, then replace the module or the cable; low Rx Power can be the other end.
    HCCL:           no code; EI0006 or EI0009 if the link is lost.
    """
    reasons = {}
    for place, state in states.items():
        if wrong := [*_beyond(state.optics or {}), *_uneven(state.optics or {})]:
            reasons[place] = Message("HK664.readings", "{readings}", readings=listed(wrong, 3))
    return reasons


def flapping(states: States) -> Reasons:
    """The link of a card is lost again and again.

    What:           hccn_tool -link_stat records three or more losses of the link within a day, or its count rose during
                    this check.
    Why it matters: each loss stops an operator of HCCL for seconds, or ends the job.
    Example:        card 2 of 10.0.0.9: its link was lost 4 times within a day
    Fix:            replace the cable or the optical module; look at the log of the switch port.
    HCCL:           EI0009, error CQE, when a job runs.
    """
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
    """The cable of a card ends in the wrong place.

    What:           by LLDP a cable ends at another card, or at a switch whose other cables are from another rail.
    Why it matters: cards of one rail are expected at one switch: with crossed cables they do not reach each other, or
                    only through switches that are not meant for it.
    Example:        card 0 of 10.0.0.4: its cable ends at "leaf-1", where the cards 1 of other servers are
    Fix:            swap the cables; hccn_tool -i N -lldp -g shows where each ends.
    HCCL:           no code; EI0006 if the networks of the rails are not connected.
    """
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
    """Damaged packets arrive at a card.

    What:           a counter of packets with a wrong checksum rose between the two readings of this check.
    Why it matters: these packets are sent again, which makes every operator with this card slow.
    Example:        card 1 of 10.0.0.2: 37 packets damaged during this check (mac_rx_fcs_err_pkt_num)
    Fix:            the cable, the module of the card, or that of the switch port is bad.
    HCCL:           no code; EI0009 if repeating does not help.
    """
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
    """The memory of a card has errors that cannot be corrected.

    What:           npu-smi info -t ecc counts double-bit errors since the start of the card.
    Why it matters: the program that uses the page ends, with 507054 or a wrong result.
    Example:        card 6 of 10.0.0.5: 2 errors of memory that could not be corrected since its start
    Fix:            restart the card, which takes the pages out of use; if the number grows, replace the card.
    HCCL:           no code; the runtime stops with 507054.
    """
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
    """A busy card runs below its rated clock.

    What:           npu-smi shows a card that is at least 90 % busy with less than 90 % of its rated clock. npu-smi has
                    no field for the reason. A card that is idle lowers its clock too, so nothing is said about it.
    Why it matters: the slowest card sets the speed of the job.
    Example:        card 0 of 10.0.0.8: 1200 MHz of 1800, though it is busy
    Fix:            look at its temperature and power: npu-smi info -t temp -i NPU, npu-smi info -t power -i NPU.
    HCCL:           no code.
    """
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
