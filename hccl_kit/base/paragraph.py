"""The width of wrapped text."""

from __future__ import annotations

from shutil import get_terminal_size

_MIN_WIDTH, _MAX_WIDTH = 40, 120


def paragraph_width() -> int:
    """The columns of wrapped text: those of the terminal, from 40 to 120."""
    return max(_MIN_WIDTH, min(_MAX_WIDTH, get_terminal_size().columns))
