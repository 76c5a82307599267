"""Wrapped text, and its width."""

from __future__ import annotations

import re
from shutil import get_terminal_size

from hccl_kit.base.terminal import text_width

_MIN_WIDTH, _MAX_WIDTH = 40, 120
_CLOSING = "，。；：、）"
_PIECE = re.compile(
    rf"（*(?:[\u4e00-\u9fff]|(?:`[^`\n]{{1,40}}`|[^\s\u4e00-\u9fff（{_CLOSING}])+|.)[{_CLOSING}]*\s*", re.DOTALL
)
"""What stays on one line: a word, a command in backquotes, a Chinese character with its punctuation; and blanks."""


def paragraph_width() -> int:
    """The columns of wrapped text: those of the terminal, from 40 to 120."""
    return max(_MIN_WIDTH, min(_MAX_WIDTH, get_terminal_size().columns))


def filled(text: str, width: int, first: str = "", rest: str = "") -> str:
    """A paragraph in lines of `width` cells: the first begins with `first`, all others with `rest`."""
    lines = [first]
    for piece in _PIECE.findall(" ".join(text.splitlines())):
        if len(lines[-1]) > len(rest) and text_width(lines[-1] + piece.rstrip()) > width:
            lines.append(rest)
        lines[-1] += piece
    return "\n".join(line.rstrip() for line in lines)
