"""Facts that stand in several records: an operator that timed out, the list of connected ranks, a traceback."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from hccl_kit.diagnosis.logs.facts import Connected, Fact, OperatorTimedOut
from hccl_kit.diagnosis.logs.patterns import facts_of
from hccl_kit.diagnosis.logs.patterns.faults import of_exception
from hccl_kit.diagnosis.logs.patterns.row import MAX_RANK
from hccl_kit.diagnosis.logs.plog import Record

MAX_CONNECTED = 1 << 16
A_LINE = 8
"""Ranks in a line of the list of connected ranks; the last line has fewer, or as many."""

_TOTAL = re.compile(r"total connected num is ?\[([0-9]{1,8})\]")
_NEEDED = re.compile(r"need connect rankNum is ?\[([0-9]{1,8})\]")
_LIST = re.compile(r"connected rankinfo ?\[LINE ([0-9]{1,6})\] ?:((?:\s{0,2}\[[0-9]{1,16}\][,;]?)+)(.?)")
_EXCEPTION = re.compile(
    r"(?P<name>[A-Za-z_][\w.]{0,120}(?:Error|Exception|Exit|Interrupt|Warning|Timeout|Failure|Fault))(?::|$)"
)


class Stated(NamedTuple):
    """A fact and the number and record of the line that it begins at."""

    line: int
    record: Record
    fact: Fact


class _Part(NamedTuple):
    at: Stated
    fact: OperatorTimedOut


class Assembler:
    """Takes the records of one file in order; `end` yields what was still open."""

    def __init__(self) -> None:
        self._timed_out: dict[str | None, _Part] = {}
        self._connected: list[int] = []
        self._list_at: Stated | None = None
        self._next_line = 0
        self._total: int | None = None
        self._needed: int | None = None
        self._traceback = False

    def take(self, line: int, record: Record) -> Iterator[Stated]:
        """The facts that are complete with this record."""
        yield from self._list(line, record)
        if stated := self._exception(line, record):
            yield stated
        found = False
        for fact in facts_of(record):
            if isinstance(fact, OperatorTimedOut):
                found = True
                yield from self._part(Stated(line, record, fact), fact)
            else:
                yield Stated(line, record, fact)
        if not found and record.level is not None and (part := self._timed_out.pop(record.thread, None)):
            yield part.at._replace(fact=part.fact)

    def end(self) -> Iterator[Stated]:
        """What was still open at the end of the file."""
        yield from self._close_list(by_end=True)
        for part in self._timed_out.values():
            yield part.at._replace(fact=part.fact)
        self._timed_out.clear()

    def _part(self, stated: Stated, fact: OperatorTimedOut) -> Iterator[Stated]:
        thread = stated.record.thread
        open_part = self._timed_out.get(thread)
        is_new = "base information" in stated.record.text or "Notify register" in stated.record.text
        if open_part and (is_new or not _agree(open_part.fact, fact)):
            yield open_part.at._replace(fact=open_part.fact)
            open_part = None
        if open_part:
            self._timed_out[thread] = open_part._replace(fact=_merged(open_part.fact, fact))
        elif len(self._timed_out) < 1024:
            self._timed_out[thread] = _Part(stated, fact)

    def _list(self, line: int, record: Record) -> Iterator[Stated]:
        text = record.text
        if "connect" not in text:
            if self._list_at and record.level is not None and record.thread == self._list_at.record.thread:
                yield from self._close_list()
            return
        if found := _NEEDED.search(text):
            self._needed = int(found[1])
        if found := _TOTAL.search(text):
            self._total = int(found[1])
        found = _LIST.search(text)
        if not found:
            return
        number = int(found[1])
        if number == 0 or number != self._next_line or self._list_at is None:
            yield from self._close_list()
            if number != 0:
                return
            self._list_at = Stated(line, record, Connected((), None))
        ranks = [int(digits) for digits in re.findall(r"\[([0-9]{1,16})\]", found[2])]
        self._next_line = number + 1
        if len(self._connected) < MAX_CONNECTED:
            self._connected += [one for one in ranks if one < MAX_RANK]
        if len(ranks) < A_LINE and record.is_whole:
            yield from self._close_list()

    def _close_list(self, *, by_end: bool = False) -> Iterator[Stated]:
        """A list that the end of the file may have cut is known to be complete by its length only."""
        stated, ranks, total, needed = self._list_at, tuple(self._connected), self._total, self._needed
        if stated is None:
            return
        self._list_at, self._connected, self._total, self._needed = None, [], None, None
        if (total is None and not by_end) or total == len(ranks):
            yield stated._replace(fact=Connected(ranks, needed))

    def _exception(self, line: int, record: Record) -> Stated | None:
        """The last line of a Python traceback: the first one after it that is not indented."""
        if record.level is not None and not record.is_screen:
            return None
        if "Traceback (most recent call last)" in record.text:
            self._traceback = True
            return None
        text = _without_prefix(record.text)
        if not self._traceback or not text or text[0] in " \t|+" or not record.is_whole:
            return None
        self._traceback = False
        found = _EXCEPTION.match(text)
        return Stated(line, record, of_exception(found["name"].split(".")[-1], text)) if found else None


_PREFIX = re.compile(
    r"(?:\[(?:default)?\d{0,6}\]:|\[rank ?\d{1,8}\]: ?|\([\w .=-]{1,80}\) ?"
    r"|(?:ERROR|INFO|WARNING) \d\d-\d\d [\d:]{8} \[[\w.]{1,80}:\d{1,6}\] ?|worker-\d{1,6}: ?|\d{1,6}: )"
)


def _without_prefix(text: str) -> str:
    """The text without what frameworks put in front of each line."""
    at = 0
    for _ in range(4):
        found = _PREFIX.match(text, at)
        if not found:
            break
        at = found.end()
    return text[at:]


def _agree(first: OperatorTimedOut, second: OperatorTimedOut) -> bool:
    return all(one is None or other is None or one == other for one, other in zip(first, second, strict=True))


def _merged(first: OperatorTimedOut, second: OperatorTimedOut) -> OperatorTimedOut:
    known = {name: value for name, value in first._asdict().items() if value is not None}
    return second._replace(**known)
