"""The telling moments of every rank on one axis of corrected time, a row with a drawing for each rank."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple

from hccl_kit.base.message import Message
from hccl_kit.base.translation import translated
from hccl_kit.diagnosis.facts import Place
from hccl_kit.diagnosis.moments import clock, timestamp
from hccl_kit.diagnosis.report.markup import element, text
from hccl_kit.diagnosis.verdict.diagnosis import Diagnosis, RankLine, Suspect
from hccl_kit.diagnosis.verdict.names import place_name, rank_name

MAX_ROWS = 4096
MAX_DOTS = 40
"""Moments of one rank that are drawn: the first and the last ones."""
_MIDDLE = 10
"""The middle of a row, whose drawing is 20 pixels high."""
_APART = 0.05
"""Moments of a rank that are nearer to each other, as a part of the width, share a mark: room for it and its number."""
_TICKS = 5

KnownMoment = tuple[float, str, Place]


class Axis(NamedTuple):
    """The first and the last moment of a job."""

    first: float
    last: float

    def part(self, time: float) -> float:
        """The position of a moment, from 0 to 1; the middle if the job has only one moment."""
        length = self.last - self.first
        return (time - self.first) / length if length else 0.5

    def x(self, time: float) -> str:
        """The position of a moment in the width of the drawing."""
        return f"{100 * self.part(time):.2f}%"


def as_rows(diagnosis: Diagnosis) -> str:
    """The drawing; "" if no rank is known. The first fault and the ranks without a log come first."""
    fault = diagnosis.first_fault
    culprit = fault.suspect if fault else None
    lines = _in_order(diagnosis, culprit)
    if not lines:
        return ""
    axis = _axis(lines)
    silent = set(diagnosis.silent)
    shown = lines[:MAX_ROWS]
    rows = [_row(line, axis, _kind(line.suspect, culprit, silent), is_silent=line.suspect in silent) for line in shown]
    hidden = Message("diagnosis.more-ranks", "{number} more ranks are not drawn.", number=len(lines) - MAX_ROWS)
    more = element("p", translated(hidden)) if len(lines) > MAX_ROWS else ""
    title = translated(Message("diagnosis.timeline", "Timeline of the ranks"))
    return element("div", _ticks(axis), *rows, id="timeline", role="img", aria_label=title) + more


def _in_order(diagnosis: Diagnosis, culprit: Suspect | None) -> list[RankLine]:
    """All ranks: also those that the diagnosis names without moments."""
    known = {line.suspect for line in diagnosis.ranks}
    silent = set(diagnosis.silent)
    others = [
        suspect
        for suspect in dict.fromkeys([*([culprit] if culprit else []), *diagnosis.silent])
        if suspect not in known
    ]
    every = [*diagnosis.ranks, *(RankLine(suspect, ()) for suspect in others)]

    def position(line: RankLine) -> tuple[bool, bool, bool, float]:
        suspect = line.suspect
        return (
            suspect != culprit,
            suspect not in silent,
            suspect not in diagnosis.suspects,
            math.inf if suspect.rank is None else suspect.rank,
        )

    return sorted(every, key=position)


def _axis(lines: Sequence[RankLine]) -> Axis | None:
    times = [time for line in lines for time, _, _ in line.moments if time is not None and timestamp(time)]
    return Axis(min(times), max(times)) if times else None


def _kind(suspect: Suspect, culprit: Suspect | None, silent: set[Suspect]) -> str:
    return "culprit" if suspect == culprit else "silent" if suspect in silent else "rank"


def _row(line: RankLine, axis: Axis | None, kind: str, *, is_silent: bool) -> str:
    known = [(time, phrase, place) for time, phrase, place in line.moments if time is not None and timestamp(time)]
    if len(known) > MAX_DOTS:
        known = [*known[: MAX_DOTS // 2], *known[-MAX_DOTS // 2 :]]
    size = 5 if kind == "culprit" else 4
    marks = [_mark(moments, axis, size) for moments in _groups(known, axis)] if axis else []
    why = _NO_TIME if line.moments else _NO_LOG if is_silent else _NO_ERROR
    note = [] if known else [element("text", text(translated(why)), x=6, y=_MIDDLE + 4, class_="none")]
    name = text(translated(rank_name(line.suspect)))
    track = element("svg", element("line", x1=0, y1=_MIDDLE, x2="100%", y2=_MIDDLE), *marks, *note)
    return element("div", element("span", name), track, class_=f"row {kind}")


_NO_LOG = Message("diagnosis.row-silent", "no log")
_NO_ERROR = Message("diagnosis.row-quiet", "no error in its log")
_NO_TIME = Message("diagnosis.row-undated", "no time in its log")


def _groups(moments: Sequence[KnownMoment], axis: Axis) -> list[list[KnownMoment]]:
    """The moments of a rank in the order of time, together where their marks would cover each other."""
    groups: list[list[KnownMoment]] = []
    for moment in sorted(moments, key=itemgetter(0)):
        if groups and axis.part(moment[0]) - axis.part(groups[-1][0][0]) < _APART:
            groups[-1].append(moment)
        else:
            groups.append([moment])
    return groups


def _mark(moments: Sequence[KnownMoment], axis: Axis, size: int) -> str:
    """A dot whose title lists the moments; if there are several, their number is beside it."""
    x = axis.x(moments[0][0])
    titles = "\n".join(f"{clock(time)} {translated(phrase)} - {place_name(place)}" for time, phrase, place in moments)
    dot = element("circle", element("title", text(titles)), cx=x, cy=_MIDDLE, r=size)
    number = element("text", str(len(moments)), x=x, dx=size + 1, y=_MIDDLE + 4, class_="count")
    return dot + (number if moments[1:] else "")


def _ticks(axis: Axis | None) -> str:
    if axis is None:
        return ""
    length = axis.last - axis.first
    times = [axis.first + length * n / (_TICKS - 1) for n in range(_TICKS)]
    label = clock if length >= _TICKS - 1 else _fine_clock
    places = {label(time): axis.x(time) for time in reversed(times)}  # a time that is written alike has one place
    ticks = (
        element("text", text(written), x=x, y=14, class_="tick") + element("line", x1=x, y1=20, x2=x, y2="100%")
        for written, x in reversed(places.items())
    )
    return element("svg", *(element("g", tick) for tick in ticks), class_="ticks")


def _fine_clock(time: float) -> str:
    return (timestamp(time) or "").replace("T", " ")
