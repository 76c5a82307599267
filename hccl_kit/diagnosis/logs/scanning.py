"""Find the lines that matter in gigabytes of others: blocks of bytes are searched for the keys of all patterns.

Only lines with a key are decoded. Memory is bounded by the block, the length of a line, and the lines kept per key.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
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
DENSE = 1 << 10
"""Matches of a probe in a block from which on its keys are looked for in the block, no longer in each line: a log that
repeats an error for gigabytes would take minutes.
"""
REPEATED = 8
"""How many times as many lines as different ones a block has that is searched by its different lines."""
MAX_LATE = 4 << 10
"""Bytes of a line that waits for the end of the file, since it may be among the last ones."""
EDGE = 64 << 10
"""Bytes at the start and the end of a file that are searched for its first and last time."""

OTHER_ERROR = re.compile(rb"\[ERROR\] ?(?!HCC[LP]\(|ROCE\()[A-Z]")
"""An error of a module around HCCL: the first ones of a process tell most."""
LINK_ERROR = re.compile(rb"\[ERROR\] ?(?:HCC[LP]|ROCE)\(")
"""An error of HCCL itself: many are echoes of one, so that they do not take the places of others."""
ERRORS = {b"": OTHER_ERROR, b"\n": LINK_ERROR}
"""Lines that are read whatever is in them, and what counts them in place of a key."""


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
            probe = next((pattern for pattern in known if pattern.search(key)), None) or re.compile(re.escape(key))
            of_probe.setdefault(probe, []).append(key)
        return cls(all_keys, tuple((probe, tuple(keys)) for probe, keys in of_probe.items()))


def scan(pieces: Iterable[bytes], search: Search, take: Callable[[Line], bool]) -> Scanned:
    """Give `take` the lines with a key; when it returns True, the next line too.

    Each key has its quota: the lines between the first and the last ones are left out. The last ones come at the end.
    """
    quotas = {key: _Quota() for key in (*search.keys, *ERRORS)}
    number, wants_more, has_long_lines = 1, False, False
    head = tail = b""
    for block in _blocks(pieces):
        head = head or block[:EDGE]
        tail = (tail + block)[-EDGE:] if len(block) < EDGE else block[-EDGE:]
        now, late = _hits(block, search, quotas)
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
    for number, text, is_whole in sorted({hit for quota in quotas.values() for hit in quota.last}):
        take(_line(number, text, is_whole=is_whole))
    left_out = sum(max(0, quota.seen - FIRST - LAST) for quota in quotas.values())
    return Scanned(head, tail, has_long_lines, left_out)


def _line(number: int, text: bytes, *, is_whole: bool) -> Line:
    return Line(number, decoded(text).rstrip("\r"), is_whole and len(text) < MAX_LINE)


def decoded(text: bytes) -> str:
    """A line as text: UTF-8, or else the encoding of Chinese systems; what is neither is replaced."""
    for encoding in ("utf-8", "gb18030"):
        with suppress(UnicodeDecodeError):
            return text.decode(encoding)
    return text.decode("utf-8", "replace")


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


class _Hits:
    """The lines of a block that matter, by their offsets: those that are read now, and those that may be the last ones.

    A line that may be the last one is kept by one of its keys.
    """

    def __init__(self, block: bytes) -> None:
        self._block = block
        self.now: set[int] = set()
        self._late: dict[_Quota, deque[int]] = {}

    def add(self, start: int, quota: _Quota) -> None:
        """Count a line with the key of a quota. Those of one key come in the order of lines."""
        if quota.is_early():
            self.now.add(start)
        else:
            self._late.setdefault(quota, deque(maxlen=LAST)).append(start)

    def add_dense(self, key: bytes, quota: _Quota) -> None:
        """Count all lines with a key; of thousands, only the first and the last ones are looked at."""
        at = self._block.find(key)
        while at >= 0 and quota.seen < FIRST:
            self.add(self.line(at), quota)
            end = self._block.find(b"\n", at)
            at = self._block.find(key, end) if end >= 0 else -1
        if at < 0:
            return
        quota.seen += self._block.count(key, at)
        last: list[int] = []
        before = len(self._block)
        while len(last) < LAST and (place := self._block.rfind(key, at, before)) >= 0:
            last.append(self.line(place))
            before = last[-1]
        self._late[quota] = deque(reversed(last), maxlen=LAST)

    def line(self, at: int) -> int:
        """Where the line of this byte starts."""
        return self._block.rfind(b"\n", 0, at) + 1

    @property
    def late(self) -> dict[int, _Quota]:
        """The offsets of lines that may be among the last ones with their key."""
        return {start: quota for quota, starts in self._late.items() for start in starts}


def _hits(block: bytes, search: Search, quotas: Mapping[bytes, _Quota]) -> tuple[set[int], dict[int, _Quota]]:
    """The lines that are read now, and those that may be the last ones of their keys."""
    hits = _Hits(block)
    lines = Counter(block.split(b"\n"))
    is_repeated = lines.total() > REPEATED * len(lines)
    text = b"\n".join(lines) if is_repeated else block
    for probe, of_probe in search.probes:
        if len(of_probe) == 1 and of_probe[0] not in text:  # twice as fast as the probe
            continue
        matches = [match.start() for match in islice(probe.finditer(text), DENSE + 1)]
        if is_repeated or len(matches) > DENSE:
            for key in of_probe if matches else ():
                if not is_repeated or key in text:
                    hits.add_dense(key, quotas[key])
            continue
        for start in sorted(set(map(hits.line, matches))):
            end = block.find(b"\n", start)
            line = block[start : end if end >= 0 else len(block)]
            for key in of_probe:
                if key in line:
                    hits.add(start, quotas[key])
    for key, pattern in ERRORS.items():
        if pattern.search(text):
            count = sum(lines[line] for line in lines if pattern.search(line)) if is_repeated else None
            _errors(hits, block, pattern, quotas[key], count)
    return hits.now, hits.late


def _errors(hits: _Hits, block: bytes, pattern: re.Pattern[bytes], quota: _Quota, count: int | None) -> None:
    """Add the first and the last lines that are errors; `count` is the number of lines with one, if it is known."""
    count = len(pattern.findall(block)) if count is None else count
    most = max(0, FIRST - quota.seen) + LAST
    taken = {hits.line(match.start()) for match in islice(pattern.finditer(block), most)}
    for size in (EDGE, len(block)) if count > most else ():
        begin = hits.line(len(block) - size) if size < len(block) else 0
        last = [hits.line(match.start()) for match in deque(pattern.finditer(block, begin), maxlen=LAST)]
        if len(last) == LAST:
            taken.update(last)
            break
    for start in sorted(taken):
        hits.add(start, quota)
    quota.seen += max(0, count - len(taken))


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
