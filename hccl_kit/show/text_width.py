"""Text cut or wrapped to a width in terminal cells, of which a Chinese character takes two."""

from __future__ import annotations

from itertools import accumulate

from hccl_kit.base.terminal import text_width

MAX_LINES = 4
"""The maximum number of lines of a wrapped text; a longer one is cut."""
_ELLIPSIS = "..."
_INDENT = "  "


def cut(text: str, width: int) -> str:
    """The text, or its start and an ellipsis if it takes more than `width` cells (at least 3)."""
    if len(text) <= width and text_width(text) <= width:
        return text
    return text[: _fitting(text, width - len(_ELLIPSIS))] + _ELLIPSIS


def padded(text: str, width: int) -> str:
    """The text padded with spaces to `width` cells."""
    return text + " " * (width - text_width(text))


def wrapped(text: str, width: int) -> list[str]:
    """The text in lines of at most `width` cells, all but the first indented, wrapped at spaces if possible."""
    lines: list[str] = []
    indent = ""
    while len(lines) < MAX_LINES - 1 and cut(text, width - len(indent)) != text:
        end = _fitting(text, width - len(indent))
        space = text.rfind(" ", 1, end + 1)
        end = space if space > 0 else max(1, end)
        lines.append(indent + text[:end])
        text = text[end:].lstrip(" ")
        indent = _INDENT
    return [*lines, indent + cut(text, width - len(indent))]


def _fitting(text: str, width: int) -> int:
    """The number of leading characters that fit into `width` cells; a text may have millions."""
    return sum(taken <= width for taken in accumulate(map(text_width, text[: width + 1])))
