"""A job on a terminal, refreshed in place: drawn by rich, which the extra `watch` installs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from hccl_kit.base.message import Message
from hccl_kit.base.translation import translated
from hccl_kit.base.wording import as_note
from hccl_kit.runtime.pulse import Span
from hccl_kit.watch.text import HEADINGS, LEFT, cells, headline, notes, rest, said, slowest
from hccl_kit.watch.view import State, WatchedJob, chosen, problems

STYLES: dict[State, str] = {
    "failed": "bold red",
    "silent": "bold red",
    "ended": "yellow",
    "starting": "cyan",
    "done": "green",
}
_PARTS = ("data", "comp", "comm")
_COLORS = ("yellow", "blue", "bright_black")
_BAR = 12
_WIDE = 110
"""Columns of a terminal that has room for everything."""
_OTHER_LINES = 12
"""Lines of the screen besides the rows of ranks."""


@contextmanager
def screen() -> Iterator[Callable[[WatchedJob], None]]:
    """Yields a function that shows a job. The screen is restored when the block ends, however it ends."""
    console = Console(markup=False, highlight=False)
    with Live(console=console, screen=True, auto_refresh=False) as live:
        yield lambda job: live.update(drawn(job, height=console.height, width=console.width), refresh=True)


def drawn(job: WatchedJob, *, height: int = 50, width: int = 120) -> Group:
    """The job as lines and a table. All texts are taken as they are: no markup of rich is read in them."""
    shown = chosen(job.ranks, max(3, height - _OTHER_LINES))
    slow = job.straggler.lag.rank if job.straggler else None
    headings = [heading for heading in HEADINGS if heading not in ("comp", "comm")]
    if width < _WIDE:
        headings = [heading for heading in headings if heading not in ("card", "memory")]
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for heading in headings:
        if heading == "data":
            shares_of = translated(Message("watch.head-shares", "data comp comm"))
            table.add_column(shares_of, justify="right", no_wrap=True)
        else:
            table.add_column(translated(heading), justify="left" if heading in LEFT else "right", no_wrap=True)
    for rank in shown:
        row: dict[str, str] = dict(zip(HEADINGS, map(translated, cells(rank)), strict=True))
        style = "bold red" if rank.rank == slow else STYLES.get(rank.state, "")
        shares = _shares(rank.recent, row, has_bar=width >= _WIDE)
        table.add_row(*(shares if heading == "data" else Text(row[heading]) for heading in headings), style=style)
    lines = [Text(translated(headline(job)), style="bold")]
    lines += [Text(translated(problem), style="bold red") for problem in problems(job)]
    below = map(translated, [*rest(job, shown), *slowest(job), *said(shown, job), *map(as_note, notes(job))])
    hint = Text(translated(Message("watch.leave", "Ctrl-C leaves; the job goes on")), style="dim")
    return Group(
        *lines, Text(), table, Text(), *(Text(line, overflow="ellipsis", no_wrap=True) for line in below), hint
    )


def _shares(recent: Span | None, row: dict[str, str], *, has_bar: bool) -> Text:
    """The shares of a step as figures, and as a bar of three colors."""
    shares = Text()
    for cells_of_part, color in zip(_lengths(recent), _COLORS, strict=True) if has_bar else ():
        shares.append("\N{FULL BLOCK}" * cells_of_part, style=color)
    return shares.append(" " + " ".join(f"{row[part]:>4}" for part in _PARTS))


def _lengths(recent: Span | None) -> tuple[int, int, int]:
    """How many cells of the bar each part takes."""
    if recent is None:
        return (0, 0, 0)
    whole = recent.data_s + recent.compute_s + recent.communication_s or 1.0
    data, compute = round(_BAR * recent.data_s / whole), round(_BAR * recent.compute_s / whole)
    return (data, min(compute, _BAR - data), max(0, _BAR - data - compute))
