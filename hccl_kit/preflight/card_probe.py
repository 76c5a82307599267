"""Ask the cards of this server: the state of each, pings to others in rounds, and what changed meanwhile.

A card has a thread of its own, which asks one question after the other: hccn_tool is never called twice at once for a
card. Everything is read only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from hccl_kit.base.message import Message, reason_of
from hccl_kit.discovery import driver_tool, hccn_ping, hccn_reports, hccn_state, npu_smi
from hccl_kit.discovery.driver_tool import HangError, NoAnswerError, excerpt, query_each
from hccl_kit.preflight.card_pings import Ping, Place, rounds_of
from hccl_kit.preflight.card_state import CardsAnswer, CardState
from hccl_kit.preflight.node import CannotTellError, Node, ToolQueries
from hccl_kit.preflight.probes import tools
from hccl_kit.preflight.probes.cards import here, info, physical_ids

ERRORS = ("mac_rx_fcs_err_pkt_num", "mac_rx_bad_pkt_num", "roce_new_pkt_rty_num", "roce_rx_err_pkt_num")
"""Counters that rise with each damaged or repeated packet; `-stat -g` has them since the start of the card."""
CLOCK = ("Aicore Freq(MHZ)", "Aicore curFreq(MHZ)", "Aicore Usage Rate(%)")
TIMEOUT = 30.0
"""Seconds of one ping; that over HCCS polls its result for up to a minute in the worst case."""
MAX_HANGS = 2
"""Pings in a row that do not end; a card that hangs is asked no more."""

_T = TypeVar("_T")
_Pinged = tuple[int, Place, str, hccn_ping.Pinged]
_Query = Callable[..., str]


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
        def query(*words: str) -> str:
            return node.tools.query(tool, "-i", str(card), *words)

        def again(*words: str) -> str:
            return second.query(tool, "-i", str(card), *words)

        unread: dict[str, str] = {}
        before = _port(query, unread)
        earlier = _read(query, hccn_reports.counters, "-stat", "counters", unread)
        pings = [*_pings(tool, card, asks[card])]
        later = _read(again, hccn_reports.counters, "-stat", "counters", unread)
        after = _read(again, hccn_reports.link_history, "-link_stat", "history", unread)
        rose = (
            {name: later[name] - earlier.get(name, 0) for name in ERRORS if name in later}
            if earlier and later
            else None
        )
        return before._replace(counters=rose, new_downs=_new_downs(before, after), unread=unread), pings

    second = ToolQueries()
    answers, _ = query_each(cards, of_card)
    chips = _chips(node, cards)
    states = {card: _with_chip(state, chips.get(card)) for card, (state, _) in answers.items()}
    return CardsAnswer(states, [ping for _, pings in answers.values() for ping in pings])


def _port(query: _Query, unread: dict[str, str]) -> CardState:
    return CardState(
        link=_read(query, hccn_state.link, "-link", "link", unread),
        speed=_read(query, hccn_state.speed, "-speed", "speed", unread),
        history=_read(query, hccn_reports.link_history, "-link_stat", "history", unread),
        optics=_read(query, hccn_reports.optics, "-optical", "optics", unread),
        neighbour=_read(query, hccn_reports.neighbour, "-lldp", "neighbour", unread),
    )


def _new_downs(before: CardState, after: hccn_reports.LinkHistory | None) -> int:
    earlier, later = before.history and before.history.down_count, after and after.down_count
    return max(0, later - earlier) if later is not None and earlier is not None else 0


def _read(query: _Query, parse: Callable[[str], _T | None], word: str, name: str, unread: dict[str, str]) -> _T | None:
    """What the tool answers to `-i N WORD -g`; None, and the reason in `unread`, if it is something else."""
    try:
        answer = query(word, "-g")
    except NoAnswerError as reason:
        unread[name] = reason_of(reason)
        return None
    value = parse(answer)
    if value is None:
        unread[name] = excerpt(answer)
    return value


def _pings(tool: str, card: int, asks: Sequence[Ping]) -> Iterator[_Pinged]:
    hangs = 0
    for ping in asks:
        not_asked = Message("preflight.ping-not-asked", "not asked, since {number} pings did not end", number=hangs)
        pinged = hccn_ping.Pinged(0, 0, reason=not_asked)
        if hangs < MAX_HANGS:
            try:
                words = hccn_ping.words(ping.link, ping.address)
                pinged = hccn_ping.parse(driver_tool.query([tool, "-i", str(card), *words], TIMEOUT))
                hangs = 0
            except NoAnswerError as reason:
                hangs += isinstance(reason, HangError)
                pinged = hccn_ping.Pinged(0, 0, reason=reason_of(reason))
        yield card, ping.target, ping.link, pinged


_Chip = tuple[Mapping[str, int] | None, Mapping[str, int] | None, Mapping[str, str]]


def _chips(node: Node, cards: Sequence[int]) -> Mapping[int, _Chip]:
    """Memory errors and clock of the cards, by npu-smi, and why some are not known."""
    try:
        tool = tools.need(node, tools.NPU_SMI)
        places = {card: place for place, card in physical_ids(node, info(node).chips).items()}
    except CannotTellError as reason:
        return dict.fromkeys(cards, (None, None, {"memory": reason_of(reason)}))

    def of_card(card: int) -> _Chip:
        npu, chip = places[card]
        unread: dict[str, str] = {}

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

        return rows("ecc"), rows("common"), unread

    chips, _ = query_each([card for card in cards if card in places], of_card)
    return chips


def _with_chip(state: CardState, chip: _Chip | None) -> CardState:
    if chip is None:
        not_shown = Message("preflight.card-not-shown", "npu-smi does not show this card")
        return state._replace(unread={**state.unread, "memory": not_shown})
    memory, clock, unread = chip
    return state._replace(
        memory=memory and {name: count for name, count in memory.items() if "Double Bit" in name},
        clock=clock and {name: clock[name] for name in CLOCK if name in clock},
        unread={**state.unread, **unread},
    )
