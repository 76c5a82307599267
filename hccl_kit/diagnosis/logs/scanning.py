"""Find the lines that matter in gigabytes of others: blocks of bytes are searched for the keys of all patterns.

Only lines with a key are decoded. Memory is bounded by the block, the length of a line, and the lines kept per key.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

BLOCK = 1 << 20
"""Bytes that are searched at a time; a block stays in the cache of the processor."""
MAX_LINE = 64 << 10
"""Bytes of a line that are read."""
FIRST = 400
LAST = 50
"""Lines with one key that are kept of a file: the first ones and the last ones. Otherwise a log that repeats itself
would fill the memory.
"""
MAX_HITS = BLOCK >> 6
"""Maximum number of lines of a block that are kept; the header of a record alone has more than 64 bytes."""
MAX_LATE = 4 << 10
"""Bytes of a line that waits for the end of the file, since it may be among the last ones."""
EDGE = 64 << 10
"""Bytes at the start and the end of a file that are searched for its first and last time."""

OTHER_ERROR = re.compile(rb"\[ERROR\] ?(?!HCC[LP]\(|ROCE\()[A-Z]")
"""An error of a module without patterns: the first ones of a process tell most."""


_OTHER = b""
"""The key of lines with such an error."""


class Line(NamedTuple):
    """A line, counted from 1, without its end. `is_whole` is False if it may go on: cut, or too long."""

    number: int
    text: str
    is_whole: bool


class Scanned(NamedTuple):
    """What was seen of a file: its start and its end, whether lines were too long, and how many were left out."""

    head: bytes
    tail: bytes
    has_long_lines: bool
    left_out: int


class Search(NamedTuple):
    """What is searched for. A block is searched for the probes, and a line with a probe for the keys of that probe.

    A probe is what several keys have in common, because each probe takes a pass over all bytes.
    """

    keys: tuple[bytes, ...]
    probes: tuple[tuple[re.Pattern[bytes], tuple[bytes, ...]], ...]

    @classmethod
    def of(cls, keys: Iterable[bytes], shared: Iterable[bytes]) -> Search:
        """The search for keys by the patterns that they share; a key without one is its own probe."""
        known = [re.compile(probe) for probe in shared]
        all_keys = tuple(keys)
        of_probe: dict[re.Pattern[bytes], list[bytes]] = {probe: [] for probe in known}
        for key in all_keys:
            probe = next((one for one in known if one.search(key)), None) or re.compile(re.escape(key))
            of_probe.setdefault(probe, []).append(key)
        return cls(all_keys, tuple((probe, tuple(found)) for probe, found in of_probe.items()))


def scan(pieces: Iterable[bytes], search: Search, take: Callable[[Line], bool]) -> Scanned:
    """Give `take` the lines with a key; when it returns True, the next line too.

    Each key has its quota: the lines between the first and the last ones are left out. The last ones come at the end.
    """
    quotas = {key: _Quota() for key in (*search.keys, _OTHER)}
    number, wants_more, has_long_lines = 1, False, False
    head = tail = b""
    for block in _blocks(pieces):
        head = head or block[:EDGE]
        tail = (tail + block)[-EDGE:] if len(block) < EDGE else block[-EDGE:]
        now: set[int] = set()
        lasts: dict[bytes, deque[int]] = {}
        for start, keys in _hits(block, search):
            for key in keys:
                if quotas[key].is_early():
                    now.add(start)
                else:
                    lasts.setdefault(key, deque(maxlen=LAST)).append(start)
        late = {start: quotas[key] for key, found in lasts.items() for start in found}
        order = sorted(now.union(late))
        counted = 0
        start = 0 if wants_more else _next(order, 0, len(block))
        while start < len(block):
            end = block.find(b"\n", start)
            is_cut = end < 0
            end = len(block) if is_cut else end
            number += block.count(b"\n", counted, start)
            counted = start
            has_long_lines |= end - start >= MAX_LINE
            text = block[start : min(end, start + MAX_LINE)]
            if wants_more or start in now:
                wants_more = take(_line(number, text, is_whole=not is_cut))
            else:
                late[start].last.append((number, text[:MAX_LATE], not is_cut and len(text) <= MAX_LATE))
            start = end + 1 if wants_more else _next(order, end + 1, len(block))
        number += block.count(b"\n", counted)
    for number, text, is_whole in sorted({one for quota in quotas.values() for one in quota.last}):
        take(_line(number, text, is_whole=is_whole))
    left_out = sum(max(0, quota.seen - FIRST - LAST) for quota in quotas.values())
    return Scanned(head, tail, has_long_lines, left_out)


def _line(number: int, text: bytes, *, is_whole: bool) -> Line:
    return Line(number, text.decode("utf-8", "replace").rstrip("\r"), is_whole and len(text) < MAX_LINE)


def _next(order: list[int], low: int, default: int) -> int:
    """The first of the sorted numbers from `low` on."""
    at = bisect_left(order, low)
    return order[at] if at < len(order) else default


class _Quota:
    """How often a key was seen in a file, and the last lines with it that came after the first ones."""

    def __init__(self) -> None:
        self.seen = 0
        self.last: deque[tuple[int, bytes, bool]] = deque(maxlen=LAST)

    def is_early(self) -> bool:
        """Count a line with the key; returns whether it is one of the first."""
        self.seen += 1
        return self.seen <= FIRST


def _hits(block: bytes, search: Search) -> Iterator[tuple[int, list[bytes]]]:
    """The lines that matter, each once: their offsets and their keys, in the order of lines."""
    # A log may repeat one line for gigabytes, so only the keys of the probes in a line are looked for.
    probed: dict[int, list[bytes]] = {}
    for probe, of_probe in search.probes:
        for start in {block.rfind(b"\n", 0, found.start()) + 1 for found in probe.finditer(block)}:
            probed.setdefault(start, []).extend(of_probe)
    others = {block.rfind(b"\n", 0, found.start()) + 1 for found in OTHER_ERROR.finditer(block)}
    order = sorted(probed.keys() | others)
    for start in order if len(order) <= MAX_HITS else order[: MAX_HITS // 2] + order[-MAX_HITS // 2 :]:
        end = block.find(b"\n", start)
        line = block[start : end if end >= 0 else len(block)]
        keys = [key for key in probed.get(start, ()) if key in line]
        if start in others:
            keys.append(_OTHER)
        if keys:
            yield start, keys


def _blocks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in blocks that end with a line break, except for the last one.

    Of a line longer than MAX_LINE, only the start is kept.
    """
    rest, is_dropping = b"", False
    for piece in pieces:
        start = piece.find(b"\n") if is_dropping else 0
        if start < 0:
            continue
        end = max(start, piece.rfind(b"\n") + 1)
        if end > start:
            yield rest + piece[start:end]
            rest = b""
        rest += piece[end:]
        is_dropping = len(rest) > MAX_LINE
        rest = rest[:MAX_LINE]
    if rest:
        yield rest
