"""A job as one page that loads nothing and runs nothing; the browser reloads it as long as it is written again.

Its curves over the steps are SVG: loss, own time of a step, memory; with a line for each rank that is shown.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from hccl_kit import __version__
from hccl_kit.base.message import Message
from hccl_kit.base.translation import translated
from hccl_kit.base.wording import as_note, clauses
from hccl_kit.diagnosis.report.markup import element, page
from hccl_kit.diagnosis.report.markup import text as escaped
from hccl_kit.runtime.pulse import Point
from hccl_kit.watch.text import HEADINGS, STATES, UNSEEN, cells, headline, notes, rest, said, slowest
from hccl_kit.watch.view import WatchedJob, WatchedRank, chosen, problems

_STYLE = """
:root { --one: #7aa5d2; }
@media (prefers-color-scheme: dark) { :root { --one: #4d7fb0; } }
h1 { font-size: 1.3rem; overflow-wrap: anywhere; } h2 { font-size: 1.05rem; margin: 1.5rem 0 .3rem; }
.bad { overflow-wrap: anywhere; } .scroll { overflow: auto; } table { font-variant-numeric: tabular-nums; }
td, th { text-align: right; padding: .1rem .7rem .1rem 0; white-space: nowrap; }
tr.bad td { color: var(--bad); } code { overflow-wrap: anywhere; }
svg { max-width: 100%; height: auto; } svg text { fill: var(--pale); }
svg text.y { text-anchor: end; } svg .axis { stroke: var(--line); }
svg polyline { fill: none; stroke: var(--one); stroke-width: 1.3; } svg polyline.slow { stroke: var(--bad);
  stroke-width: 2.2; }
"""


def as_html(job: WatchedJob, *, again_in: float | None = None) -> str:
    """The page; the browser loads it again every `again_in` seconds, if it will be written again."""
    shown = chosen(job.ranks)
    bad = {rank.rank for rank in shown if rank.state in ("failed", "silent")}
    bad |= {job.straggler.lag.rank} if job.straggler else set()
    rows = [
        element(
            "tr", *(element("td", text(cell)) for cell in cells(rank)), class_="bad" if rank.rank in bad else "good"
        )
        for rank in shown
    ]
    body = [
        element("h1", text(headline(job))),
        *(element("p", text(problem), class_="bad") for problem in problems(job)),
        element("div", element("table", _head(), *rows, id="ranks"), class_="scroll"),
        *(element("p", text(line)) for line in (*rest(job, shown), *slowest(job))),
        *(element("h2", text(chart.title)) + svg for chart in CHARTS if (svg := as_svg(job, chart))),
        *([element("h2", text(Message("watch.logs", "Logs")))] if said(shown, job) else []),
        *(element("p", element("code", text(line))) for line in said(shown, job)),
        *(element("p", text(as_note(note))) for note in notes(job)),
        element("footer", text(_state_of_page(job, again_in))),
    ]
    again = "" if again_in is None else f'\n<meta http-equiv="refresh" content="{max(1, math.ceil(again_in))}">'
    state = UNSEEN if job.state == "unknown" else STATES[job.state]
    title = text(Message("watch.page-title", "{state}: {run}", state=state, run=job.run))
    return page(title, _STYLE, body, again)


def _state_of_page(job: WatchedJob, again_in: float | None) -> str:
    """How old the page is, and whether it gets newer: after a SIGKILL, nobody could correct a page that says more."""
    when = time.strftime("%F %T", time.localtime(job.time))
    more = Message("watch.page-over", "no longer updated")
    if again_in is not None:
        more = Message("watch.page-again", "updated every {seconds:g} s while hccl-kit watch runs", seconds=again_in)
    program = f"hccl-kit {__version__} watch"
    return clauses([program, when, more])


def text(line: str) -> str:
    """The line in the language of the user, in HTML."""
    return escaped(translated(line))


def _head() -> str:
    return element("tr", *(element("th", text(heading)) for heading in HEADINGS))


_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 720, 180, 64, 12, 10, 24

Values = Sequence[tuple[float, float]]
"""Steps and values."""


class Chart(NamedTuple):
    """A title, the unit of the values, and the value of a point (None: it has none)."""

    title: Message
    unit: str
    value: Callable[[Point], float | None]
    is_of_all: bool
    """Whether each rank has a line; the loss is the same for all."""


def _per_step(point: Point) -> float | None:
    return point.span.own if point.span.steps else None


def _speed(point: Point) -> float | None:
    span = point.span
    return span.steps / span.seconds if span.seconds else None


def _mebibytes(point: Point) -> float | None:
    return point.memory / (1 << 20) if point.memory else None


CHARTS = (
    Chart(Message("watch.chart-own", "Own time of a step"), "s", _per_step, True),
    Chart(Message("watch.chart-speed", "Steps per second"), "/s", _speed, False),
    Chart(Message("watch.chart-loss", "Loss"), "", lambda point: point.span.mean_loss, False),
    Chart(Message("watch.chart-memory", "Memory"), "MiB", _mebibytes, True),
)


def as_svg(job: WatchedJob, chart: Chart) -> str:
    """The chart; "" if no rank has two values for it. The straggler is drawn last, in its own color."""
    slow = job.straggler.lag.rank if job.straggler else None
    ranks = [rank for rank in job.ranks if rank.curve]
    ranks = ranks if chart.is_of_all else ranks[:1]
    lines = [(rank, values) for rank in ranks if len(values := _values(rank, chart)) > 1]
    if not lines:
        return ""
    lines.sort(key=lambda pair: pair[0].rank == slow)
    every = [value for _, values in lines for value in values]
    (first, last), (low, high) = _span([step for step, _ in every]), _span([value for _, value in every])
    low = min(low, 0.0) if chart.unit else low

    def place(step: float, value: float) -> str:
        x = _LEFT + (_WIDTH - _LEFT - _RIGHT) * _share(step, first, last)
        y = _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * _share(value, low, high)
        return f"{x:.1f},{y:.1f}"

    drawn = [
        element(
            "polyline",
            element("title", escaped(rank.name)),
            points=" ".join(place(*point) for point in values),
            class_="slow" if rank.rank == slow else "line",
            data_rank=rank.rank,
        )
        for rank, values in lines
    ]
    size = {"width": _WIDTH, "height": _HEIGHT, "viewBox": f"0 0 {_WIDTH} {_HEIGHT}"}
    name = chart.title.lower().replace(" ", "-")
    return element("svg", *_axes(first, last, low, high, chart.unit), *drawn, id=name, role="img", **size)


def _axes(first: float, last: float, low: float, high: float, unit: str) -> list[str]:
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    labels = [
        element("text", escaped(f"{_short(high)} {unit}".strip()), x=_LEFT - 6, y=_TOP + 10, class_="y"),
        element("text", escaped(_short(low)), x=_LEFT - 6, y=bottom, class_="y"),
        element("text", escaped(f"step {first:.0f}"), x=_LEFT, y=_HEIGHT - 6),
        element("text", escaped(f"step {last:.0f}"), x=right, y=_HEIGHT - 6, class_="y"),
    ]
    return [
        element("line", x1=_LEFT, y1=bottom, x2=right, y2=bottom, class_="axis"),
        element("line", x1=_LEFT, y1=_TOP, x2=_LEFT, y2=bottom, class_="axis"),
        *labels,
    ]


def _values(rank: WatchedRank, chart: Chart) -> list[tuple[float, float]]:
    """The values of a rank, by step; those that are not finite cannot be drawn."""
    values = ((float(point.span.step), chart.value(point)) for point in rank.curve)
    return [(step, value) for step, value in values if value is not None and math.isfinite(value)]


def _share(value: float, low: float, high: float) -> float:
    """How far `value` is on the way from `low` to `high`; in halves, since a float may not hold their difference."""
    return (value / 2 - low / 2) / (high / 2 - low / 2 or 1.0)


def _span(values: Sequence[float]) -> tuple[float, float]:
    return min(values), max(values)


def _short(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}" if abs(value) < 1e9 else f"{value:.1e}"
