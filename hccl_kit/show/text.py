"""The picture of a table in a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence

from hccl_kit.screen import cells, printable
from hccl_kit.show.layout import Card, Host, Picture, Run, spans

MAX_RUNS = 16
"""Runs of servers that are drawn; a screen holds no more."""
MAX_FAULTS = 20
_FULL = 4
"""So many servers are all drawn with their cards, even where they look alike."""


def as_text(picture: Picture, width: int) -> str:
    """The picture in lines of at most `width` cells (40 at least)."""
    width = max(40, width)
    drawn = [_cut(printable(line), width) for line in _pods(picture, width - 2)]
    told = [_wrapped(printable(line), width) for line in (*picture.networks, *_faults(picture))]
    return "\n".join([_wrapped(printable(picture.title), width), *drawn, *told])


def _wrapped(line: str, width: int) -> str:
    """The line on as many as it needs; a Chinese character takes two cells, so such lines break earlier."""
    narrow = width if line.isascii() else width // 2
    return "\n  ".join(textwrap.wrap(line, narrow - 2, break_on_hyphens=False)) or line


def _pods(picture: Picture, width: int) -> Iterator[str]:
    left = MAX_RUNS
    few = sum(len(run.hosts) for pod in picture.pods for run in pod.runs) <= _FULL
    hidden = 0
    for pod in picture.pods:
        if pod.id is not None and left > 0:
            yield f"super pod {pod.id}"
        for run in pod.runs:
            if left <= 0:
                hidden += len(run.hosts)
                continue
            left -= 1
            for line in _run(run, width, in_full=few):
                yield f"  {line}"
    if hidden:
        yield f"  and {hidden} more servers"


def _run(run: Run, width: int, *, in_full: bool) -> Iterator[str]:
    if len(run.hosts) == 1 or in_full:
        for host in run.hosts:
            yield from _host(host, width)
    else:
        ranks = (
            spans((run.hosts[0].ranks[0], run.hosts[-1].ranks[-1])).replace(",", "-") if run.hosts[0].ranks else "none"
        )
        cards = spans([card.id for card in run.hosts[0].cards])
        yield f"{run.hosts[0].id} .. {run.hosts[-1].id}  {len(run.hosts)} servers, ranks {ranks}, cards {cards} each"


def _host(host: Host, width: int) -> Iterator[str]:
    """A server: its name, then its cards above their ranks, "." for one that takes no part, in groups."""
    faults = f"  <- {' '.join(host.faults)}" if host.faults else ""
    yield f"{host.id}{faults}"
    for row in _rows(host, width - 6):
        yield "  card " + _line(row, lambda card: str(card.id))
        yield "  rank " + _line(row, lambda card: "." if card.rank is None else str(card.rank))
        marked = [card for card in row if card and card.faults]
        if marked:
            yield "       " + _line(row, lambda card: "^" if card.faults else "").rstrip(" |")
            told = "; ".join(f"card {card.id}: {' '.join(card.faults)}" for card in marked)
            yield f"       {told}"


def _line(row: Sequence[Card | None], shown: Callable[[Card], str]) -> str:
    wide = max(len(str(number)) for card in row if card for number in (card.id, card.rank or 0))
    return " ".join("|" if card is None else shown(card).rjust(wide) for card in row)


def _rows(host: Host, width: int) -> Iterator[list[Card | None]]:
    """The cards in as many rows as the width asks for; None stands between two groups."""
    cards: list[Card | None] = []
    for group in host.groups:
        cards += [None, *group] if cards and group else [*group]
    wide = 1 + max([len(str(number)) for card in cards if card for number in (card.id, card.rank or 0)], default=1)
    step = max(1, width // wide)
    for start in range(0, len(cards), step):
        row = cards[start : start + step]
        if any(card is not None for card in row):
            yield row


def _faults(picture: Picture) -> Iterator[str]:
    for found in picture.faults[:MAX_FAULTS]:
        yield f"{found.rule} {found.severity}: {found.message}"
    if len(picture.faults) > MAX_FAULTS:
        yield f"and {len(picture.faults) - MAX_FAULTS} more findings; hccl-check lists them"


def _cut(line: str, width: int) -> str:
    """The line, with an ellipsis where it is wider than the screen."""
    if cells(line) <= width:
        return line
    while line and cells(line) > width - 3:
        line = line[:-1]
    return f"{line}..."
