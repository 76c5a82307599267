"""The matrix of pairs as SVG: a row and a column for each rank, in frames by server, red where something is bad."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hccl_kit.base.grouped import grouped
from hccl_kit.base.message import Message
from hccl_kit.base.translation import translated
from hccl_kit.selftest.evidence import judged_links
from hccl_kit.selftest.faults import Fault
from hccl_kit.selftest.measured import Measured
from hccl_kit.selftest.rounds import Card, Pair
from hccl_kit.show.shapes import INK, PALE, WHITE, Piece, columns, label, moved, rectangle, stacked, tooltip
from hccl_kit.show.text_width import wrapped

MAX_RANKS = 96
"""Ranks that are drawn one by one; of larger jobs, a cell stands for two servers, with its worst pair."""
_MARGIN, _GAP, _SIDE = 28, 6, 26
_NAME = 150
_RED, _IDLE = "#c62828", "#eef1f5"
_SCALE = ("#f3b8a6", "#f7d9a8", "#fbf0b8", "#d5e8b0", "#a9d99b", "#7cc77f")
"""From slow to as fast as most."""


class _Line(NamedTuple):
    """A row or column: its name, its server, and the ranks that it stands for."""

    name: str
    server: str
    ranks: frozenset[int]


def as_svg(measured: Measured, faults: Sequence[Fault], *, table: str, slow: float) -> str:
    """The drawing: self-contained, without scripts, readable on any background."""
    lines = _lines(measured.cards)
    quality = {judged.pair: judged.quality for judged in judged_links(measured)}
    bad = frozenset(rank for fault in faults for rank in fault.ranks)
    grid = _grid(lines, quality, bad, slow)
    width = max(grid.width, 640)
    title = Message(
        "selftest.svg", "{table}: pairs of ranks, measured with {backend}", table=table, backend=measured.backend
    )
    notes = [_text(fault.message, width, _RED, 13) for fault in faults[:20]]
    none = _text(Message("selftest.svg-no-faults", "no faults"), width, PALE, 13)
    whole = stacked([_text(title, width, INK, 18), grid, _legend(width), *(notes or [none])], 14)
    across, down = width + 2 * _MARGIN, whole.height + 2 * _MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {across:g} {down:g}" width="{across:g}"'
        f' height="{down:g}" font-family="sans-serif">\n{tooltip(table)}\n'
        f'<rect width="100%" height="100%" fill="{WHITE}"/>\n{moved(whole.body, _MARGIN, _MARGIN)}\n</svg>\n'
    )


def _lines(cards: Sequence[Card]) -> list[_Line]:
    ordered = sorted(cards)
    if len(ordered) <= MAX_RANKS:
        servers = {card.server: place for place, card in reversed([*enumerate(ordered)])}
        return [
            _Line(f"rank {card.rank}", card.server, frozenset([card.rank]))
            for card in sorted(ordered, key=lambda card: (servers[card.server], card.rank))
        ]
    members = grouped((card.server, card.rank) for card in ordered)
    return [_Line(name, name, frozenset(ranks)) for name, ranks in list(members.items())[:MAX_RANKS]]


def _grid(lines: Sequence[_Line], quality: Mapping[Pair, float], bad: frozenset[int], slow: float) -> Piece:
    offsets = _offsets(lines)
    worst = _worst(lines, quality)
    end = offsets[-1] + _SIDE if offsets else 0
    parts = []
    for y, row in zip(offsets, lines, strict=True):
        is_bad = bool(bad & row.ranks)
        name = label(f"{row.name} {row.server}" if row.name != row.server else row.name, 11, width=_NAME - 10,
                     color=_RED if is_bad else INK, is_bold=is_bad)  # fmt: skip
        parts.append(moved(name, 0, y + 17))
        for x, column in zip(offsets, lines, strict=True):
            parts.append(moved(_cell(row, column, worst, slow), _NAME + x, y))
    return Piece("\n".join(parts), _NAME + end, end)


def _offsets(lines: Sequence[_Line]) -> list[float]:
    """Where each row begins: servers are apart by a gap."""
    offsets: list[float] = []
    place = 0.0
    for number, line in enumerate(lines):
        if number and line.server != lines[number - 1].server:
            place += _GAP
        offsets.append(place)
        place += _SIDE
    return offsets


def _worst(lines: Sequence[_Line], quality: Mapping[Pair, float]) -> Mapping[frozenset[str], float]:
    home = {rank: line.name for line in lines for rank in line.ranks}
    worst: dict[frozenset[str], float] = {}
    for (a, b), value in quality.items():
        if a in home and b in home:
            key = frozenset((home[a], home[b]))
            worst[key] = min(value, worst.get(key, value))
    return worst


def _cell(row: _Line, column: _Line, worst: Mapping[frozenset[str], float], slow: float) -> str:
    value = worst.get(frozenset((row.name, column.name)))
    if value is None:
        return rectangle(_SIDE - 2, _SIDE - 2, radius=3, fill=_IDLE, edge=_IDLE)
    is_bad = value < slow
    fill = _SCALE[min(len(_SCALE) - 1, int(value * (len(_SCALE) - 1)))]
    box = _box(fill, _RED if is_bad else fill, f"{min(value, 9.99):.0%}".rstrip("%"))
    pair = Message("selftest.svg-pair", "{one} and {other}: {share:.0%}", one=row.name, other=column.name, share=value)
    return f"<g>{tooltip(pair)}{box}</g>"


def _box(fill: str, edge: str, number: str) -> str:
    box = rectangle(_SIDE - 2, _SIDE - 2, radius=3, fill=fill, edge=edge, thick=2)
    return box + moved(label(number, 9, anchor="middle"), (_SIDE - 2) / 2, 15)


def _legend(width: float) -> Piece:
    """A box for each colour with the least percentage that has it, and what they mean."""
    least = [round(100 * place / (len(_SCALE) - 1)) for place in range(len(_SCALE))]
    boxes = [moved(_box(fill, fill, f"{percent}"), place * _SIDE, 0)
             for place, (fill, percent) in enumerate(zip(_SCALE, least, strict=True))]  # fmt: skip
    caption = Message(
        "selftest.svg-legend",
        "Percent of the typical bandwidth, inside and between servers separately, each colour from the number in its"
        " box on. Red frame: bad. Grey: not measured.",
    )
    return stacked([Piece("".join(boxes), len(_SCALE) * _SIDE, _SIDE), _text(caption, width, PALE, 12)], 0)


def _text(text: str, width: float, color: str, size: float) -> Piece:
    rows = wrapped(translated(text), columns(width, size))
    body = "".join(moved(label(row, size, color=color, is_bold=size > 13), 0, (place + 1) * (size + 4))
                   for place, row in enumerate(rows))  # fmt: skip
    return Piece(body, width, len(rows) * (size + 4))
