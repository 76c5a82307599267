"""The picture of a table in a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from hccl_kit.base.terminal import cells, printable
from hccl_kit.base.wording import counted, plural, spans
from hccl_kit.show.fitting import cut, padded, wrapped
from hccl_kit.show.folding import folded, one_by_one
from hccl_kit.show.layout import Card, Host, Picture, Pod, Run, Told
from hccl_kit.table.finding import Diagnostic

MIN_WIDTH = 20
_MAX_LINES = 36
"""Lines of servers, without those of faults; a screen holds no more."""
_MAX_ROWS = 8
"""Rows of cards of one server."""
_FEW = 4
"""So many servers are all drawn with their cards, even where they look alike."""
_RED, _YELLOW, _BOLD, _PLAIN = "\033[31m", "\033[33m", "\033[1m", "\033[0m"
_INDENT = "  "
_MARGIN = 4 + len("card ")
"""Cells before the first card of a line."""


class _Line(NamedTuple):
    text: str
    color: str = ""


class _Columns(NamedTuple):
    """What all lines of a picture have in common: the cells of a card, whether addresses fit, those of a run's name."""

    card: int
    has_addresses: bool
    name: int

    def in_row(self, width: int) -> int:
        """How many cards a line of `width` cells holds."""
        return max(1, (width - _MARGIN) // (self.card + 1))

    def placed(self, text: str) -> str:
        """In the column of a card: numbers to the right, but above an address to the left, where it starts."""
        return padded(text, self.card) if self.has_addresses else " " * (self.card - cells(text)) + text


def as_text(picture: Picture, width: int, *, color: bool = False) -> str:
    """The picture in lines of at most `width` cells, MIN_WIDTH at least, about a screenful of them."""
    width = max(MIN_WIDTH, width)
    shown = _bounded(one_by_one(picture) if picture.size <= _FEW else picture, width)
    columns = _columns(shown, width)
    drawn = [line for pod in shown.pods for line in _pod(pod, shown, columns, width)]
    if shown.more_pods:
        drawn.append(_Line(f"and {counted(shown.more_pods, 'more super pod')}"))
    lines = [
        *(_Line(line, _BOLD) for line in wrapped(printable(shown.title), width)),
        *(_Line(cut(printable(line.text), width), line.color) for line in drawn),
        *(_Line(cut(printable(line), width)) for line in shown.networks),
        *(_Line(line, _color([told])) for told in shown.faults for line in wrapped(printable(told.text), width)),
    ]
    return "\n".join(f"{line.color}{line.text}{_PLAIN}" if color and line.color else line.text for line in lines)


def _bounded(picture: Picture, width: int) -> Picture:
    """What of a picture a screen holds: fewer servers where one takes more lines."""
    columns = _columns(picture, width)
    alone = [run.hosts[0] for run in picture.runs if len(run.hosts) == 1]
    lines = max([1 + 2 * min(_MAX_ROWS, len(_rows(host, columns.in_row(width)))) for host in alone], default=1)
    lines += any(pod.id is not None for pod in picture.pods)
    return folded(picture, max(_FEW, _MAX_LINES // lines))


def _columns(picture: Picture, width: int) -> _Columns:
    hosts = [run.hosts[0] for run in picture.runs if len(run.hosts) == 1]
    cards = [card for host in hosts for group in host.groups for card in group]
    plain = max([len(str(number)) for card in cards for number in (card.id, card.rank or 0)], default=1)
    names = [cells(_name(run)) for run in picture.runs if len(run.hosts) > 1]
    addresses = max([cells(card.address) for card in cards], default=0)
    widest = max([sum(map(len, host.groups)) * (addresses + 1) + 2 * len(host.groups) for host in hosts], default=0)
    fit = addresses > 0 and len(hosts) <= _FEW and widest + _MARGIN <= width
    return _Columns(max(plain, addresses) if fit else plain, fit, min(max(names, default=0), width // 2))


def _pod(pod: Pod, picture: Picture, columns: _Columns, width: int) -> Iterator[_Line]:
    if pod.id is not None:
        yield _named(f"super pod {pod.id}", pod.faults, width)
    elif len(picture.pods) > 1:
        yield _Line("in no super pod")
    for run in pod.runs:
        if len(run.hosts) == 1 and run.are_alike:
            yield from _host(run.hosts[0], columns, width)
        else:
            yield _Line(_INDENT + _run(run, picture.noun, columns.name))


def _name(run: Run) -> str:
    return f"{run.hosts[0].id} .. {run.hosts[-1].id}"


def _run(run: Run, noun: str, width: int) -> str:
    """Several servers in one line; `width` is what the names take."""
    if not run.are_alike:
        return f"and {counted(len(run.hosts), f'more {noun}')}"
    cards = f"cards {','.join(spans(card.id for card in run.hosts[0].cards))}" if run.hosts[0].cards else "no cards"
    ranks = f"ranks {run.ranks}, " if run.ranks else ""
    return f"{padded(cut(_name(run), width), width)}  {counted(len(run.hosts), noun)}, {ranks}{cards} each"


def _host(host: Host, columns: _Columns, width: int) -> Iterator[_Line]:
    """A server: its name, then its cards above their ranks, "." for one that takes no part, in groups."""
    yield _named(_INDENT + (host.id or '""'), host.faults, width)
    rows = _rows(host, columns.in_row(width))
    for row in rows[:_MAX_ROWS]:
        yield _Line("    card " + _cells(row, columns, lambda card: str(card.id)))
        yield _Line("    rank " + _cells(row, columns, lambda card: "." if card.rank is None else str(card.rank)))
        if columns.has_addresses:
            yield _Line("    addr " + _cells(row, columns, lambda card: card.address))
        faults = {fault.rule: fault for card in row if card for fault in card.faults}
        if faults:
            marks = _cells(row, columns, lambda card: "^" if card.faults else "").replace("|", " ")
            yield _Line("         " + marks, _color([*faults.values()]))
        for rule, fault in faults.items():
            at = [card.id for card in row if card and rule in [one.rule for one in card.faults]]
            where = f"{plural('card', len(at))} {','.join(spans(at))}"
            yield _Line(f"         {where}: {rule}", _color([fault]))
    if len(rows) > _MAX_ROWS:
        yield _Line(f"    and {counted(sum(map(bool, chain(*rows[_MAX_ROWS:]))), 'more card')}")


def _cells(row: Sequence[Card | None], columns: _Columns, shown: Callable[[Card], str]) -> str:
    return " ".join("|" if card is None else columns.placed(shown(card)) for card in row).rstrip(" |")


def _rows(host: Host, most: int) -> Sequence[Sequence[Card | None]]:
    """The cards in rows of at most `most`; None stands between two groups."""
    cards: list[Card | None] = []
    for group in host.groups:
        cards += [None, *group] if cards and group else group
    rows = [cards[start : start + most] for start in range(0, len(cards), most)]
    return [row for row in rows if any(row)]


def _named(name: str, faults: Sequence[Diagnostic], width: int) -> _Line:
    """A name and the rules that it breaks, which stay where the name is too long."""
    rules = f"  <- {' '.join(fault.rule for fault in faults)}" if faults else ""
    return _Line(cut(name, max(MIN_WIDTH // 2, width - len(rules))) + rules, _color(faults))


def _color(faults: Sequence[Diagnostic | Told]) -> str:
    return "" if not faults else _RED if any(fault.severity == "error" for fault in faults) else _YELLOW
