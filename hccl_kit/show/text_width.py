"""Text that fits: cut or broken by the cells it takes on a screen, where a Chinese character takes two."""

from __future__ import annotations

from itertools import accumulate

from hccl_kit.base.terminal import text_width

MAX_LINES = 4
"""Lines that one text is broken into; what is longer is cut."""
_ELLIPSIS = "..."
_INDENT = "  "


def cut(text: str, width: int) -> str:
    """The text, or its start and an ellipsis where it takes more than `width` cells (3 at least)."""
    if len(text) <= width and text_width(text) <= width:
        return text
    return text[: _fitting(text, width - len(_ELLIPSIS))] + _ELLIPSIS


def padded(text: str, width: int) -> str:
    """The text and as many spaces as it lacks to `width` cells."""
    return text + " " * (width - text_width(text))


def wrapped(text: str, width: int) -> list[str]:
    """The text in lines of at most `width` cells, all but the first indented; broken at spaces where there are some."""
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
    """How many characters from the start on fit in `width` cells; a text may have millions."""
    return sum(taken <= width for taken in accumulate(map(text_width, text[: width + 1])))
