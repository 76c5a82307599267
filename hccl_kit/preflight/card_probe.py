"""Ask the cards of this server: the state of each, pings to others in rounds, and what changed meanwhile.

A card has a thread of its own, which asks one question after the other: hccn_tool is never called twice at once for a
card. Everything is read only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from hccl_kit.base.message import Message, reason_of
from hccl_kit.discovery import driver_tool, hccn_answers, npu_smi
from hccl_kit.discovery.driver_tool import HangError, NoAnswerError, excerpt, query_each
from hccl_kit.preflight.card_round import CardsAnswer, CardState, Ping, Place, rounds_of
from hccl_kit.preflight.node import CannotTellError, Command, Node, ToolQueries
from hccl_kit.preflight.probes import tools
from hccl_kit.preflight.probes.cards import here, info, physical_ids

ERRORS = ("mac_rx_fcs_err_pkt_num", "mac_rx_bad_pkt_num", "roce_new_pkt_rty_num", "roce_rx_err_pkt_num")
"""Counters that rise with each damaged or repeated packet; `-stat -g` has them since the start of the card."""
CLOCK = ("Aicore Freq(MHZ)", "Aicore curFreq(MHZ)", "Aicore Usage Rate(%)")
TIMEOUT = 30.0
"""Seconds of one ping; that over HCCS polls its result for up to a minute in the worst case."""
MAX_HANGS = 2
"""Pings in a row that do not end; a card that hangs is asked no more."""

PORT: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "link": ("-link", hccn_answers.link),
    "speed": ("-speed", hccn_answers.speed),
    "history": ("-link_stat", hccn_answers.link_history),
    "optics": ("-optical", hccn_answers.optics),
    "neighbour": ("-lldp", hccn_answers.neighbour),
    "counters": ("-stat", hccn_answers.counters),
}
"""The readings of a port: the question, and what reads its answer."""

_Pinged = tuple[int, Place, str, hccn_answers.Pinged]


def probe(node: Node, *, all_pairs: bool) -> CardsAnswer:
    """The answer of this server of the table; `error` says why its cards cannot be asked."""
    try:
        cards, tool = here(node), tools.need(node, tools.HCCN_TOOL)
    except CannotTellError as reason:
        return CardsAnswer(error=reason_of(reason))
    assert node.server is not None  # `here` is about the cards of a server
    asks: dict[int, list[Ping]] = {card: [] for card in cards}
    for pings in rounds_of(node.table, node.product, node.server.id, all_pairs=all_pairs):
        for ping in pings:
            asks.get(ping.source.card, []).append(ping)

    def of_card(card: int) -> tuple[CardState, list[_Pinged]]:
        unread: dict[str, str] = {}
        before = _readings(node.tools, (tool, "-i", str(card)), [*PORT], unread)
        pings = [*_pings(tool, card, asks[card])]
        after = _readings(second, (tool, "-i", str(card)), ["counters", "history"], unread)
        earlier, later = before["counters"], after["counters"]
        rose = earlier and later and {name: later[name] - earlier.get(name, 0) for name in ERRORS if name in later}
        downs = [history.down_count for history in (before["history"], after["history"]) if history]
        new_downs = max(0, downs[1] - downs[0]) if len(downs) == 2 and None not in downs else 0
        return CardState(**{**before, "counters": rose}, new_downs=new_downs, unread=unread), pings

    second = ToolQueries()
    answers, _ = query_each(cards, of_card)
    states = _with_chips(node, {card: state for card, (state, _) in answers.items()})
    return CardsAnswer(states, [ping for _, pings in answers.values() for ping in pings])


def _readings(queries: ToolQueries, command: Command, names: Sequence[str], unread: dict[str, str]) -> dict[str, Any]:
    """What the tool answers to questions of PORT; None, and the reason in `unread`, if it is something else."""
    values = dict[str, Any].fromkeys(names)
    for name in names:
        word, read = PORT[name]
        try:
            answer = queries.query(*command, word, "-g")
        except NoAnswerError as reason:
            unread[name] = reason_of(reason)
            continue
        values[name] = read(answer)
        if values[name] is None:
            unread[name] = excerpt(answer)
    return values


def _pings(tool: str, card: int, asks: Sequence[Ping]) -> Iterator[_Pinged]:
    hangs = 0
    for ping in asks:
        not_asked = Message("preflight.ping-not-asked", "not asked, since {number} pings did not end", number=hangs)
        pinged = hccn_answers.Pinged(0, 0, reason=not_asked)
        if hangs < MAX_HANGS:
            try:
                words = hccn_answers.ping_words(ping.link, ping.address)
                pinged = hccn_answers.ping(driver_tool.query([tool, "-i", str(card), *words], TIMEOUT))
                hangs = 0
            except NoAnswerError as reason:
                hangs += isinstance(reason, HangError)
                pinged = hccn_answers.Pinged(0, 0, reason=reason_of(reason))
        yield card, ping.target, ping.link, pinged


def _with_chips(node: Node, states: Mapping[int, CardState]) -> dict[int, CardState]:
    """The states of the cards with their memory errors and clock, by npu-smi, or why these are not known."""
    why: str = Message("preflight.card-not-shown", "npu-smi does not show this card")
    try:
        tool = tools.need(node, tools.NPU_SMI)
        places = {card: place for place, card in physical_ids(node, info(node).chips).items()}
    except CannotTellError as reason:
        why, places = reason_of(reason), {}

    def of_card(card: int) -> CardState:
        unread, (npu, chip) = {**states[card].unread}, places[card]

        def rows(kind: str) -> Mapping[str, int] | None:
            try:
                answer = node.tools.query(tool, "info", "-t", kind, "-i", str(npu), "-c", str(chip))
            except NoAnswerError as reason:
                unread["memory"] = reason_of(reason)
                return None
            numbers = {name: int(text) for name, text in npu_smi.rows(answer).items() if text.isdecimal()}
            if not numbers:
                unread["memory" if kind == "ecc" else "clock"] = excerpt(answer)
            return numbers or None

        memory, clock = rows("ecc"), rows("common")
        return states[card]._replace(
            memory=memory and {name: count for name, count in memory.items() if "Double Bit" in name},
            clock=clock and {name: clock[name] for name in CLOCK if name in clock},
            unread=unread,
        )

    known, _ = query_each([card for card in states if card in places], of_card)
    unknown = {card: state._replace(unread={**state.unread, "memory": why}) for card, state in states.items()}
    return unknown | known
