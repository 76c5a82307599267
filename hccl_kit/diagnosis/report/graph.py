"""Who waits for whom, as SVG: the awaited ranks at the left, those that wait for them further right.

Ranks that no other waits for, and that wait for the same rank, are one box, so that the picture of a thousand ranks has
as many boxes as there are chains.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from hccl_kit.base.message import Message
from hccl_kit.base.translation import translated
from hccl_kit.diagnosis.report.markup import element, text
from hccl_kit.diagnosis.report.names import short_names
from hccl_kit.diagnosis.verdict.diagnosis import Suspect, Wait
from hccl_kit.diagnosis.verdict.names import rank_name, with_noun

TITLE = Message("diagnosis.section-waits", "Who waits for whom")
MAX_BOXES = 120
_WIDTH, _HEIGHT, _GAP_X, _GAP_Y = 190, 30, 70, 12
_LABEL = 26
"""Characters of a label that fit into a box."""


class Box(NamedTuple):
    """Ranks with the same place in the graph; `column` counts the waits on the way to the end of its chain."""

    ranks: tuple[Suspect, ...]
    waits_for: Suspect | None
    column: int


def boxes(waits: Sequence[Wait], culprit: Suspect | None = None) -> list[Box]:
    """The boxes of a graph by columns, those that wait for one rank together, the culprit first.

    In a cycle of waits, the rank where the cycle is cut has column 0.
    """
    target = {wait.suspect: wait.waits_for for wait in waits}
    awaited = dict.fromkeys(suspect for suspect in target.values() if suspect is not None)
    groups: dict[tuple[Suspect | None, Suspect | None], list[Suspect]] = {}
    for suspect in dict.fromkeys([*awaited, *target]):
        waits_for = target.get(suspect)
        if waits_for is not None or suspect in awaited:
            groups.setdefault((waits_for, suspect if suspect in awaited else None), []).append(suspect)
    columns = _columns(target)
    drawn = [Box(tuple(ones), waits_for, columns.get(ones[0], 0)) for (waits_for, _), ones in groups.items()]
    drawn.sort(key=lambda box: (box.column, culprit not in box.ranks))
    rows: dict[Suspect | None, int] = {}
    ordered: list[Box] = []
    for _, column in groupby(drawn, key=lambda box: box.column):
        new = sorted(column, key=lambda box: rows.get(box.waits_for, 0))
        rows |= {suspect: row for row, box in enumerate(new, len(ordered)) for suspect in box.ranks}
        ordered += new
    return ordered


def _columns(target: dict[Suspect, Suspect | None]) -> dict[Suspect, int]:
    """How far each rank is from the end of its chain."""
    columns: dict[Suspect, int] = {}
    for start in target:
        path: dict[Suspect, None] = {}
        suspect: Suspect | None = start
        while suspect is not None and suspect not in columns and suspect not in path:
            path[suspect] = None
            suspect = target.get(suspect)
        base = -1 if suspect is None or suspect in path else columns[suspect]  # a cycle is cut where it closes
        for distance, member in enumerate(reversed(path), 1):
            columns[member] = base + distance
    return columns


def as_svg(waits: Sequence[Wait], culprit: Suspect | None) -> str:
    """The drawing; "" if no rank waits."""
    every = boxes(waits, culprit)
    shown = every[:MAX_BOXES]
    if not shown:
        return ""
    corners = _corners(shown)
    home = {suspect: corner for box, corner in zip(shown, corners, strict=True) for suspect in box.ranks}
    edges = [
        _edge(corner, home[box.waits_for])
        for box, corner in zip(shown, corners, strict=True)
        if box.waits_for is not None and box.waits_for in home
    ]
    drawn = [_box(box, corner, culprit) for box, corner in zip(shown, corners, strict=True)]
    width = max(x for x, _ in corners) + _WIDTH + 2
    height = max(y for _, y in corners) + _HEIGHT + 2
    arrow = element("path", d="M0 0L8 4L0 8z", class_="arrow")
    marker = element("marker", arrow, id="to", markerWidth=8, markerHeight=8, refX=8, refY=4, orient="auto")
    hidden = Message("diagnosis.more-boxes", "{number} more boxes are not drawn.", number=len(every) - MAX_BOXES)
    more = element("p", translated(hidden)) if len(every) > MAX_BOXES else ""
    svg = element(
        "svg",
        element("title", translated(TITLE)),
        element("defs", marker),
        *edges,
        *drawn,
        id="graph",
        role="img",
        width=width,
        height=height,
        viewBox=f"0 0 {width} {height}",
    )
    return svg + more


def _corners(shown: Sequence[Box]) -> list[tuple[int, int]]:
    rows: dict[int, int] = {}
    corners = []
    for box in shown:
        row = rows.get(box.column, 0)
        rows[box.column] = row + 1
        corners.append((1 + box.column * (_WIDTH + _GAP_X), 1 + row * (_HEIGHT + _GAP_Y)))
    return corners


def _box(box: Box, corner: tuple[int, int], culprit: Suspect | None) -> str:
    x, y = corner
    names = short_names(box.ranks)
    label = names if box.ranks[0].rank is None else translated(with_noun(names, is_one=len(box.ranks) == 1))
    short = label if len(label) <= _LABEL else label[: _LABEL - 1] + "\N{HORIZONTAL ELLIPSIS}"
    full = translated(rank_name(box.ranks[0])) if len(box.ranks) == 1 else label
    return element(
        "g",
        element("title", text(full)),
        element("rect", x=x, y=y, width=_WIDTH, height=_HEIGHT, rx=5),
        element("text", text(short), x=x + 10, y=y + 20),
        class_="box culprit" if culprit in box.ranks else "box",
    )


def _edge(start: tuple[int, int], end: tuple[int, int]) -> str:
    """An arrow from the left of the box that waits to the right of the awaited one."""
    x1, y1 = start[0], start[1] + _HEIGHT // 2
    x2, y2 = end[0] + _WIDTH, end[1] + _HEIGHT // 2
    bend = max(30, abs(x1 - x2) // 2)
    curve = f"M{x1} {y1}C{x1 - bend} {y1} {x2 + bend} {y2} {x2} {y2}"
    return element("path", d=curve, class_="edge", marker_end="url(#to)")
