"""Pieces of an SVG drawing, each with its origin at the upper left corner, so that it can be moved anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Literal, NamedTuple

from hccl_kit.base.terminal import printable
from hccl_kit.base.translation import translated
from hccl_kit.show.text_width import cut

INK, PALE, FRAME, WHITE = "#1f2933", "#52606d", "#9aa5b1", "#ffffff"
MAX_TOOLTIP = 300
_LETTER = 0.64
"""The width of a text cell relative to the font size, for a wide, bold sans-serif font."""


class Piece(NamedTuple):
    """A part of the drawing; `width` and `height` in pixels."""

    body: str
    width: float
    height: float


def rectangle(width: float, height: float, *, radius: float, fill: str, edge: str = FRAME, thick: float = 1) -> str:
    """A rectangle with rounded corners."""
    return (
        f'<rect width="{width:g}" height="{height:g}" rx="{radius:g}" fill="{fill}" stroke="{edge}"'
        f' stroke-width="{thick:g}"/>'
    )


def label(
    text: str,
    size: float,
    *,
    width: float | None = None,
    color: str = INK,
    is_bold: bool = False,
    anchor: Literal["start", "middle", "end"] = "start",
) -> str:
    """A line of text at (0, 0), cut to `width`, without control characters and escaped for XML.

    It is in the language of the user, and so is a tooltip.
    """
    text = translated(text)
    shown = escape(printable(text if width is None else cut(text, columns(width, size))), quote=False)
    weight = ' font-weight="bold"' if is_bold else ""
    aligned = f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text font-size="{size:g}" fill="{color}"{weight}{aligned}>{shown}</text>' if shown else ""


def columns(width: float, size: float) -> int:
    """The number of text cells of a font size that fit into a width, at least 3."""
    return max(3, int(width / (size * _LETTER)))


def tooltip(text: str) -> str:
    """The tooltip of its group, of which it must be the first element; at most MAX_TOOLTIP cells."""
    return f"<title>{escape(printable(cut(translated(text), MAX_TOOLTIP)), quote=False)}</title>"


def moved(body: str, x: float, y: float) -> str:
    """The body with its origin at (x, y)."""
    return f'<g transform="translate({x:g} {y:g})">{body}</g>'


def stacked(pieces: Sequence[Piece], gap: float) -> Piece:
    """The pieces from top to bottom."""
    body, y = "", 0.0
    for piece in pieces:
        body += moved(piece.body, 0, y) + "\n"
        y += piece.height + gap
    return Piece(body, max([piece.width for piece in pieces], default=0), max(0.0, y - gap))


def in_rows(pieces: Sequence[Piece], width: float, gap: float) -> Piece:
    """The pieces from left to right in rows of at most `width`, or wider for a single wide piece."""
    body, x, y, row, widest = "", 0.0, 0.0, 0.0, 0.0
    for piece in pieces:
        if x > 0 and x + piece.width > width:
            x, y, row = 0.0, y + row + gap, 0.0
        body += moved(piece.body, x, y) + "\n"
        row, widest = max(row, piece.height), max(widest, x + piece.width)
        x += piece.width + gap
    return Piece(body, widest, y + row)
