"""Facts of a log, line by line, with those that span several lines: operators, lists of ranks, tracebacks."""

from __future__ import annotations

import re
from typing import NamedTuple

from hccl_kit.diagnosis import facts
from hccl_kit.diagnosis.errors.message import number
from hccl_kit.diagnosis.errors.runtime import KERNEL_FAILED, KERNEL_LATE
from hccl_kit.diagnosis.facts import MAX_RANK, Fact, Fault, Noted
from hccl_kit.diagnosis.logs.faults import KEYS, facts_of
from hccl_kit.diagnosis.logs.origins import NOBODY, without_prefix
from hccl_kit.diagnosis.logs.plog import Record, records
from hccl_kit.diagnosis.logs.scanning import Line, Search
from hccl_kit.diagnosis.logs.summaries import ROOT, Summaries
from hccl_kit.diagnosis.logs.tracebacks import AWAITED, MAX_OPEN, Tracebacks, Who, who

MAX_CONNECTED = 1 << 16
A_LINE = 8
"""Ranks in a line of the list of connected ranks; only the last line has fewer."""
APART = 32
"""Maximum number of lines between two parts of one fact, and between a line without a time and the one that has it."""
IN_MESSAGE = 8
"""Maximum number of lines from the start of a message about a timeout to what the heartbeats found, which is in it."""
MOST_ABOVE = 64
"""Maximum number of facts above an error that may be its frames."""

_KEYS = (
    "total connected num",
    "need connect rankNum",
    "connected rankinfo",
    "Traceback (most recent",
    '  File "',
    "(local_rank:",
    "  time      :",
    "Process name: [",
    "process rank ",
    ", RankID:",
    ROOT,
)
_SHARED = (
    rb"E(?:[IJL][09]|C0|E[19]|Z99|39|RR02|ntry-Hccl|nv config|nforceNotMet)",
    rb"S(?:etupAgent|WITCH|tage\]\[)",
    rb"T(?:raceback \(|he wait execution)",
    rb"C(?:ommInit|luster Exc)",
    rb"L(?:isten on|ocalRank Key)",
    rb"oom[_-]kill",
    rb"G(?:enerateOpTag|etRootInfo)",
    rb"HCCL_(?:ENV\]|TRACE\]rank)",
    *(b"timeout", b"connect", b"nformation", b"hcom init", b"error:", b"listen on ip", b"ccurred", b"inconsistent"),
)
SEARCH = Search.of(sorted({key.encode() for key in (*_KEYS, *KEYS)}), _SHARED)
"""The keys of which a relevant line has one, and patterns that many of these keys share."""

_TOTAL = re.compile(r"total connected num is ?\[([0-9]{1,8})\]")
_NEEDED = re.compile(r"need connect rankNum is ?\[([0-9]{1,8})\]")
_LIST = re.compile(r"connected rankinfo ?\[LINE ([0-9]{1,6})\] ?:(?P<ranks>(?: {0,2}\[[0-9]{1,16}\][,;]?){1,64})")
_CONTINUES = re.compile(r"\s|\[Error\]: |E[A-Z0-9][0-9]{4}: |TraceBack \(")
_CALM = (
    facts.Joined,
    facts.Located,
    facts.Setting,
    facts.GroupNamed,
    facts.RootCreated,
    facts.OperatorEntered,
    facts.Tls,
    facts.Progress,
)
"""Facts of a line without a level that do not report an error."""


class _Open(NamedTuple):
    """A fact that later lines may complete."""

    noted: Noted
    fact: facts.OperatorTimedOut


class Assembler:
    """Takes the lines of one file in order; `end` returns the facts."""

    def __init__(self) -> None:
        self._noted: list[Noted] = []
        self._time: tuple[int, float] | None = None
        self._operators: dict[tuple[int | None, str | None], _Open] = {}
        self._connected = _Connected()
        self._tracebacks = Tracebacks()
        self._located: dict[Who, Noted] = {}
        self._summaries = Summaries()
        self._ranks: dict[tuple[str | None, int], int] = {}
        self._waiting: tuple[int, int | None] | None = None
        self._message: tuple[int, Record] | None = None

    @property
    def earlier(self) -> int:
        """Lines at the start of the file that are of earlier runs."""
        return self._summaries.earlier

    def take(self, line: Line) -> bool:
        """Take a line; returns whether the next line is needed too."""
        for record in records(line.text, is_whole=line.is_whole):
            if record.origin is not NOBODY and (place := record.origin.place) and len(self._located) < MAX_OPEN:
                noted = self._note(line.number, record, place)._replace(is_error=False)
                self._located.setdefault(who(noted), noted)
            if record.time is not None:
                self._time = line.number, record.time
            if record.pid is not None and record.origin.rank is not None and len(self._ranks) < MAX_OPEN:
                self._ranks.setdefault((record.origin.server, record.pid), record.origin.rank)
            self._take(line.number, self._with_process(line.number, record))
        self._noted += self._tracebacks.finished(line.number - AWAITED)
        return bool(self._tracebacks.is_open or self._summaries.is_open or self._connected.is_open or self._message)

    def _with_process(self, line: int, record: Record) -> Record:
        """The record, with the process whose message its line continues: `(PID:7, ...)` or `[PID: 7]` begins one.

        The message of an exception is printed at once, so lines without a process that follow are of the same one; and
        so is the line above, to which torch_npu appends `(PID:7, ...)`.
        """
        if record.pid is not None and (record.module == "TORCH" or record.is_screen):
            self._message = line, record
            if record.module == "TORCH" and self._noted and _begins(self._noted[-1], line, record):
                self._noted[-1] = self._noted[-1]._replace(pid=record.pid)
        elif self._message and line <= self._message[0] + APART and _continues(self._message[1], record):
            return record._replace(pid=self._message[1].pid)
        else:
            self._message = None
        return record

    def end(self) -> list[Noted]:
        """All that was noted, in the order of lines."""
        if self._summaries.is_cut:  # the log is cut in the block of the rank that ended first
            self._noted = [noted for noted in self._noted if not isinstance(noted.fact, facts.Exited)]
        for operator in self._operators.values():
            self._noted.append(operator.noted._replace(fact=operator.fact))
        self._operators.clear()
        if noted := self._connected.close():
            self._noted.append(noted)
        self._noted += self._tracebacks.finished()
        telling = set(map(who, self._noted))
        self._noted += (noted for process, noted in self._located.items() if process in telling)
        of_run = (noted for noted in _without_late_kernels(self._noted) if noted.line > self.earlier)
        return sorted(map(self._with_rank, of_run), key=lambda noted: noted.line)

    def _with_rank(self, noted: Noted) -> Noted:
        """With the rank that another line names for the same process."""
        known = None if noted.pid is None or noted.rank is not None else self._ranks.get((noted.server, noted.pid))
        return noted if known is None else noted._replace(rank=known)

    def _take(self, line: int, record: Record) -> None:
        bare = self._note(line, record, facts.Connected((), None))
        if noted := self._connected.take(bare, record):
            self._noted.append(noted)
        is_exception = False
        if record.level is None or record.is_screen:
            is_exception = self._tracebacks.take(bare, record)
            self._noted += self._tracebacks.finished(line - AWAITED)
            if noted := self._summaries.take(bare, record):
                self._noted.append(noted)
        for fact in facts_of(record):
            if isinstance(fact, Fault) and (is_exception or (fact.is_unknown and _is_from_launcher(record))):
                continue
            noted = self._note(line, record, fact)
            if isinstance(fact, facts.OperatorTimedOut):
                self._waiting = line, record.pid
                self._operator(noted, fact, record)
                continue
            if isinstance(fact, Fault) and not fact.is_symptom:
                self._without_frames(noted)
            self._noted.append(noted)

    def _without_frames(self, error: Noted) -> None:
        """Drop the frames that a library prints above the error that its call met: they are one message."""
        start = end = len(self._noted)
        while start and end - start < MOST_ABOVE and 0 <= error.line - self._noted[start - 1].line <= APART:
            start -= 1
        self._noted[start:] = [noted for noted in self._noted[start:] if not _is_frame_of(noted, error)]

    def _note(self, line: int, record: Record, fact: Fact) -> Noted:
        time, pid = record.time, record.pid
        if time is None and record.level is None and self._time and line - self._time[0] <= APART:
            time = self._time[1]
        time = fact.time if isinstance(fact, facts.Progress) else time
        if pid is None and record.level is None and isinstance(fact, facts.Heartbeat) and self._waiting:
            pid = self._waiting[1] if line - self._waiting[0] <= IN_MESSAGE else None
        if _is_from_launcher(record):
            pid = None
        is_error = record.level == "ERROR" or (record.level is None and not isinstance(fact, _CALM))
        return Noted(line, fact, time, is_error, pid, record.origin.rank, record.origin.server)

    def _operator(self, noted: Noted, fact: facts.OperatorTimedOut, record: Record) -> None:
        """Join the parts of one timeout: base, para, groupRank and opData information of one thread in a row."""
        key = record.pid, record.thread
        before = self._operators.pop(key, None)
        is_new = "base information" in record.text
        if before and not is_new and noted.line - before.noted.line <= APART and _agree(before.fact, fact):
            self._operators[key] = before._replace(fact=_merged(before.fact, fact))
            return
        if before is None and len(self._operators) >= MAX_OPEN:
            before = self._operators.pop(next(iter(self._operators)))
        if before:
            self._noted.append(before.noted._replace(fact=before.fact))
        self._operators[key] = _Open(noted, fact)


def _continues(first: Record, record: Record) -> bool:
    """Whether a line may be of the message that the first one begins: it is, if nothing names another process."""
    who, origin = record.origin, first.origin
    pairs = ((record.pid, first.pid), (who.rank, origin.rank), (who.server, origin.server))
    return all(value in (None, named) for value, named in pairs) and bool(_CONTINUES.match(without_prefix(record.text)))


def _begins(noted: Noted, line: int, record: Record) -> bool:
    """Whether what was noted is of the line above, which names no process, or this rank."""
    return noted.line == line - 1 and noted.pid is None and noted.rank in (None, record.origin.rank)


def _is_from_launcher(record: Record) -> bool:
    """Whether MindSpore's scheduler or msrun printed it, whose processes are no ranks (MindSpore 2.5 to 2.10)."""
    return "meta_server_node.cc" in record.text or "cluster/process_entity/" in record.text


def _without_late_kernels(all_noted: list[Noted]) -> list[Noted]:
    """Without the errors of kernels that did not finish in time: CANN reports these as if they had failed."""
    late = [noted for noted in all_noted if isinstance(noted.fact, Fault) and noted.fact.kind.startswith(KERNEL_LATE)]
    near = {(noted.pid, noted.rank, noted.line // APART + part) for noted in late for part in (-1, 0, 1)}
    return [
        noted
        for noted in all_noted
        if not (isinstance(noted.fact, Fault) and noted.fact.kind.startswith(KERNEL_FAILED))
        or (noted.pid, noted.rank, noted.line // APART) not in near
    ]


def _is_frame_of(noted: Noted, error: Noted) -> bool:
    return isinstance(noted.fact, Fault) and noted.fact.is_frame and _is_of_process(noted, error)


def _is_of_process(noted: Noted, other: Noted) -> bool:
    """Whether both may be of one process."""
    pairs = ((noted.pid, other.pid), (noted.rank, other.rank))
    return all(None in pair or pair[0] == pair[1] for pair in pairs)


class _Connected:
    """The list of ranks that a root has heard from, over several lines. It counts only if it is known to be complete:
    by its number, which newer releases print before it, or by a last line that is not full.
    """

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self.is_open = False
        self._noted: Noted | None = None
        self._ranks: list[int] = []
        self._lines = 0
        self._total: int | None = None
        self._needed: int | None = None
        self._has_end = False

    def take(self, noted: Noted, record: Record) -> Noted | None:
        """The list that ended before this line, if this line shows that it has ended."""
        text = record.text
        if "connect" not in text:
            self.is_open = self.is_open and self._noted is not None and noted.line - self._noted.line < AWAITED
            return None
        done = None
        if total := _TOTAL.search(text):
            done = self.close()
            self._total = number(total[1])
        if needed := _NEEDED.search(text):
            self._needed = number(needed[1])
        if not (row := _LIST.search(text)):
            return done
        if int(row[1]) == 0 and self._noted:
            done = self.close()
        if int(row[1]) != self._lines:
            self.close()
            return done
        ranks = [int(digits) for digits in re.findall(r"[0-9]{1,16}", row["ranks"])]
        self._noted = self._noted or noted
        self._lines += 1
        if len(self._ranks) < MAX_CONNECTED:
            self._ranks += [value for value in ranks if value < MAX_RANK]
        self._has_end = len(ranks) < A_LINE and record.is_whole
        self.is_open = not self._has_end
        return done

    def close(self) -> Noted | None:
        """The list, if it is complete; the next one may begin."""
        ranks, noted = tuple(self._ranks), self._noted
        is_complete = self._has_end if self._total is None else self._total == len(ranks)
        needed = self._needed
        self._clear()
        return noted._replace(fact=facts.Connected(ranks, needed)) if noted and is_complete else None


def _agree(first: facts.OperatorTimedOut, second: facts.OperatorTimedOut) -> bool:
    return all(None in pair or pair[0] == pair[1] for pair in zip(first, second, strict=True))


def _merged(first: facts.OperatorTimedOut, second: facts.OperatorTimedOut) -> facts.OperatorTimedOut:
    known = {name: value for name, value in first._asdict().items() if value is not None}
    return second._replace(**known)
