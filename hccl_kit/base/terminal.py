"""Text on a terminal: whether it has colors, without control characters, with carets in the right columns."""

from __future__ import annotations

import os
import sys
from collections.abc import Container, Sequence
from typing import TextIO
from unicodedata import category, east_asian_width

_EXCERPT = 100
"""Characters shown of a long line; a table may be one line of megabytes."""


def wants_color(stream: TextIO | None) -> bool:
    """Whether what is written to `stream` (None: it is closed) has colors.

    A non-empty NO_COLOR turns them off and a non-empty FORCE_COLOR turns them on, in this order (no-color.org,
    force-color.org). Otherwise they need a terminal, and TERM other than "dumb".
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"


def printable(text: str) -> str:
    """The text without control characters, each replaced by one character."""
    if text.isprintable():  # nearly every text
        return text
    return "".join(
        char if char.isprintable() else " " if char == "\t" else "\N{REPLACEMENT CHARACTER}" for char in text
    )


def clean(text: str) -> str:
    """The text without control characters except line breaks and tabs."""
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in text.split("\n"))


def shown(text: str) -> str:
    """The text for standard output: `clean` if that is a terminal, otherwise unchanged."""
    return text if sys.stdout is None or not sys.stdout.isatty() else clean(text)


def marked(line: str, start: int, width: int) -> tuple[str, str]:
    """The line, or an excerpt of a long line, and carets under the `width` characters from `start`; at least one caret.

    A carriage return at the end is left out.
    """
    first = max(0, start - _EXCERPT // 2) if len(line) > _EXCERPT else 0
    before = printable(line[first:start])
    middle = printable(line[start : min(start + width, first + _EXCERPT)])
    after = printable(line[start + len(middle) : first + _EXCERPT].rstrip("\r"))
    return f"{before}{middle}{after}", " " * text_width(before) + "^" * max(1, text_width(middle))


def text_width(text: str) -> int:
    """The width of a text in terminal cells: Chinese characters take two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(0 if category(char) in ("Mn", "Me") else 1 + (east_asian_width(char) in "WF") for char in text)


def in_columns(rows: Sequence[Sequence[str]], left: Container[int] = (0,)) -> list[str]:
    """Rows as lines of aligned columns; those that `left` names are left-aligned, the others right-aligned."""
    widths = [max(map(text_width, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = []
        for place, (cell, width) in enumerate(zip(row, widths, strict=True)):
            pad = " " * (width - text_width(cell))
            cells.append(cell + pad if place in left else pad + cell)
        lines.append("  ".join(cells).rstrip())
    return lines


def escaped(field: str) -> str:
    """The text with unprintable characters as escape sequences: a file name may hold line breaks or cursor control."""
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in field)


def settle() -> None:
    """Flush both streams, and discard what cannot be written: the interpreter would fail on it at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
