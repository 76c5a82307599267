"""A unified diff of bounded size, of two texts whose lines pair up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hccl_kit.base.message import Message
from hccl_kit.base.terminal import printable
from hccl_kit.base.translation import translated

MAX_CHANGED = 100
"""Changed lines shown; the others are counted."""
_CONTEXT = 3
_WIDTH = 200
"""Characters shown of a line; a table may be one line of megabytes."""


def line_diff(old: str, new: str, name: str) -> Iterator[str]:
    """The lines of the diff; none if the texts are equal. Control characters are replaced.

    Line n of `old` became line n of `new`, so no alignment is needed (difflib would take quadratic
    time). A line that is too long is cut around its first change.
    """
    before, after = old.removesuffix("\n").split("\n"), new.removesuffix("\n").split("\n")
    changed = [index for index, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1]]
    if changed:
        yield from (f"--- {printable(name)}", f"+++ {printable(name)}")
    beyond = [*changed[MAX_CHANGED:], len(before)][0]
    for first, last in _hunks(changed[:MAX_CHANGED]):
        start, end = max(0, first - _CONTEXT), min(beyond, last + 1 + _CONTEXT)
        yield f"@@ -{start + 1},{end - start} +{start + 1},{end - start} @@"
        yield from _hunk(before[start:end], after[start:end])
    if len(changed) > MAX_CHANGED:
        number = len(changed) - MAX_CHANGED
        yield translated(Message("check.more-lines", "... and {number} more changed lines", number=number))


def _hunks(changed: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The first and last changed line of each hunk."""
    start = 0
    for index, line in enumerate(changed):
        if index + 1 == len(changed) or changed[index + 1] - line > 2 * _CONTEXT + 1:
            yield changed[start], line
            start = index + 1


def _hunk(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    added: list[str] = []
    for old, new in zip(before, after, strict=True):
        if old == new:
            yield from added
            added = []
            yield " " + _cut(old, 0)
        else:
            change = _first_change(old, new)
            yield "-" + _cut(old, change)
            added.append("+" + _cut(new, change))
    yield from added


def _first_change(old: str, new: str) -> int:
    """The first difference of two lines, by bisection: a scan takes seconds on a line of megabytes."""
    same, end = 0, min(len(old), len(new))
    while same < end:
        middle = (same + end + 1) // 2
        if old[same:middle] == new[same:middle]:
            same = middle
        else:
            end = middle - 1
    return same


def _cut(line: str, change: int) -> str:
    line = line.removesuffix("\r")
    if len(line) <= _WIDTH:
        return printable(line)
    start = max(0, min(change - _WIDTH // 4, len(line) - _WIDTH))
    window = line[start : start + _WIDTH]
    return ("..." if start else "") + printable(window) + ("..." if start + _WIDTH < len(line) else "")
