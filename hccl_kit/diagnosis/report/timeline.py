"""The telling moments of every rank on one axis of corrected time, as SVG with a row for each rank."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple

from hccl_kit.diagnosis.facts import Place
from hccl_kit.diagnosis.moments import clock, timestamp
from hccl_kit.diagnosis.report.markup import element, text
from hccl_kit.diagnosis.report.names import place_name, rank_name
from hccl_kit.diagnosis.verdict.diagnosis import Diagnosis, RankLine, Suspect

MAX_ROWS = 4096
MAX_DOTS = 40
"""Moments of one rank that are drawn: the first and the last ones."""
_LEFT, _WIDTH, _ROW, _HEAD = 270, 760, 20, 26
_RIGHT = 80
"""Room for the half of the last date, and of a label."""
_APART = 22
"""Moments of a rank that are nearer to each other share a mark: room for a mark and its number."""
_LABEL = 38
_TICKS = 5


KnownMoment = tuple[float, str, Place]
"""A Moment whose time is known."""


class Axis(NamedTuple):
    """The first and the last moment of a job."""

    first: float
    last: float

    def x(self, time: float) -> float:
        """The position of a moment on the drawing; the middle if the job has only one moment."""
        length = self.last - self.first
        return round(_LEFT + _WIDTH * ((time - self.first) / length if length else 0.5), 1)


def as_svg(diagnosis: Diagnosis) -> str:
    """The drawing; "" if no rank is known. The first fault and the ranks without a log come first."""
    fault = diagnosis.first_fault
    culprit = fault.suspect if fault else None
    lines = _in_order(diagnosis, culprit)
    if not lines:
        return ""
    axis = _axis(lines)
    silent = set(diagnosis.silent)
    shown = lines[:MAX_ROWS]
    rows = [
        _row(line, n, axis, _kind(line.suspect, culprit, silent), is_silent=line.suspect in silent)
        for n, line in enumerate(shown)
    ]
    width, height = _LEFT + _WIDTH + _RIGHT, _HEAD + _ROW * len(shown) + 6
    more = element("p", f"{len(lines) - MAX_ROWS} more ranks are not drawn.") if len(lines) > MAX_ROWS else ""
    svg = element(
        "svg",
        element("title", "Timeline of the ranks"),
        *_ticks(axis, height),
        *rows,
        id="timeline",
        role="img",
        width=width,
        height=height,
        viewBox=f"0 0 {width} {height}",
    )
    return svg + more


def _in_order(diagnosis: Diagnosis, culprit: Suspect | None) -> list[RankLine]:
    """All ranks: also those that the diagnosis names without moments."""
    known = {line.suspect for line in diagnosis.ranks}
    silent = set(diagnosis.silent)
    others = [one for one in dict.fromkeys([*([culprit] if culprit else []), *diagnosis.silent]) if one not in known]
    every = [*diagnosis.ranks, *(RankLine(one, ()) for one in others)]

    def position(line: RankLine) -> tuple[bool, bool, bool, float]:
        one = line.suspect
        return (
            one != culprit,
            one not in silent,
            one not in diagnosis.suspects,
            math.inf if one.rank is None else one.rank,
        )

    return sorted(every, key=position)


def _axis(lines: Sequence[RankLine]) -> Axis | None:
    times = [time for line in lines for time, _, _ in line.moments if time is not None and timestamp(time)]
    return Axis(min(times), max(times)) if times else None


def _kind(suspect: Suspect, culprit: Suspect | None, silent: set[Suspect]) -> str:
    return "culprit" if suspect == culprit else "silent" if suspect in silent else "rank"


def _row(line: RankLine, number: int, axis: Axis | None, kind: str, *, is_silent: bool) -> str:
    y = _HEAD + _ROW * number + _ROW // 2
    name = rank_name(line.suspect)
    label = name if len(name) <= _LABEL else name[: _LABEL - 1] + "\N{HORIZONTAL ELLIPSIS}"
    known = [(time, phrase, place) for time, phrase, place in line.moments if time is not None and timestamp(time)]
    if len(known) > MAX_DOTS:
        known = [*known[: MAX_DOTS // 2], *known[-MAX_DOTS // 2 :]]
    size = 5 if kind == "culprit" else 4
    marks = [_mark(moments, axis, y, size) for moments in _groups(known, axis)] if axis else []
    why = "no time in its log" if line.moments else "no log" if is_silent else "no error in its log"
    note = [] if known else [element("text", why, x=_LEFT + 6, y=y + 4, class_="none")]
    return element(
        "g",
        element("text", element("title", text(name)), text(label), x=4, y=y + 4),
        element("line", x1=_LEFT, y1=y, x2=_LEFT + _WIDTH, y2=y),
        *marks,
        *note,
        class_=f"row {kind}",
    )


def _groups(moments: Sequence[KnownMoment], axis: Axis) -> list[list[KnownMoment]]:
    """The moments of a rank in the order of time, together where their marks would cover each other."""
    groups: list[list[KnownMoment]] = []
    for moment in sorted(moments, key=itemgetter(0)):
        if groups and axis.x(moment[0]) - axis.x(groups[-1][0][0]) < _APART:
            groups[-1].append(moment)
        else:
            groups.append([moment])
    return groups


def _mark(moments: Sequence[KnownMoment], axis: Axis, y: int, size: int) -> str:
    """A dot whose title lists the moments; if there are several, their number is beside it."""
    x = axis.x(moments[0][0])
    titles = "\n".join(f"{clock(time)} {phrase} - {place_name(place)}" for time, phrase, place in moments)
    dot = element("circle", element("title", text(titles)), cx=x, cy=y, r=size)
    return dot + (element("text", str(len(moments)), x=x + size + 1, y=y + 4, class_="count") if moments[1:] else "")


def _ticks(axis: Axis | None, height: int) -> list[str]:
    if axis is None:
        return []
    length = axis.last - axis.first
    times = [axis.first + length * n / (_TICKS - 1) for n in range(_TICKS)]
    label = clock if length >= _TICKS - 1 else _fine_clock
    places = {label(time): axis.x(time) for time in reversed(times)}  # a time that is written alike has one place
    return [
        element("text", text(written), x=x, y=14, class_="tick")
        + element("line", x1=x, y1=_HEAD - 6, x2=x, y2=height, class_="tick")
        for written, x in reversed(places.items())
    ]


def _fine_clock(time: float) -> str:
    return (timestamp(time) or "").replace("T", " ")
