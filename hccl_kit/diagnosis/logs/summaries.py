"""How a launcher says at its end which ranks had ended: torchrun in a block for each, Open MPI about the first one."""

from __future__ import annotations

import re

from hccl_kit.diagnosis import facts
from hccl_kit.diagnosis.errors.message import number, rank
from hccl_kit.diagnosis.facts import Noted
from hccl_kit.diagnosis.logs.origins import without_prefix
from hccl_kit.diagnosis.logs.plog import Record
from hccl_kit.diagnosis.logs.tracebacks import MAX_OPEN
from hccl_kit.diagnosis.moments import time_of

ROOT = "Root Cause (first observed failure)"
BLOCK = 8
"""Maximum number of lines from the rank of a block to its exit code."""
_TIME = re.compile(r"^ *time *: ?(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})_(?P<clock>[0-9]{2}:[0-9]{2}:[0-9]{2})")
_RANK = re.compile(r"^ *rank *: ?(?P<rank>[0-9]{1,8}) \(local_rank: ?(?P<local>[0-9]{1,6})\)")
_MPI = re.compile(r"^ *Process name: \[|\bprocess rank [0-9]{1,8} with PID .{1,300} exited on$")
_EXIT_CODE = re.compile(
    r"(?:^ *exitcode *: ?|\bExit code: {1,8})(?P<code>-?[0-9]{1,3})(?: \(pid: ?(?P<pid>[0-9]{1,10})\)|$)"
    r"|^signal (?P<signal>[0-9]{1,2}) \("
)


class Summaries:
    """Takes the lines of one file in order.

    A block of torchrun has `rank : 3 (local_rank: 3)`, then `exitcode : -9 (pid: 4711)`. That of the rank that it saw
    end first comes last, after a heading. Open MPI names that one only.
    """

    def __init__(self) -> None:
        self._block: tuple[int, int] | None = None
        self._time: float | None = None
        self._first_rank: int | None = None
        self._ends: dict[int, int] = {}
        self.is_cut = False
        """Whether the heading of the rank that ended first was read, and its block is not whole yet."""
        self.earlier = 0
        """Lines at the start of the file that are of earlier runs: in one run, torchrun writes one summary for each
        server, told apart by the first of its ranks. Host names do not tell them apart: two servers may share one.
        """

    @property
    def is_open(self) -> bool:
        """Whether the next line may belong to a block."""
        return self._block is not None

    def take(self, noted: Noted, record: Record) -> Noted | None:
        """How a rank ended, if this line completes its block; `noted` is the line with another fact."""
        text = without_prefix(record.text)
        if ROOT in text:
            self.is_cut, self._time = True, None
        elif ended := _TIME.match(text):
            self._time = time_of(f"{ended['date']} {ended['clock']}", None, None)
        elif (block := _RANK.match(text)) or _MPI.search(text):
            ended_rank = rank(block["rank"]) if block else record.origin.rank
            self._block = None if ended_rank is None else (noted.line, ended_rank)
            self.is_cut |= not block
            self._first_rank = int(block["rank"]) - int(block["local"]) if block else None
        if self._block and (exit_code := _EXIT_CODE.search(text)):
            return self._ended(noted, exit_code, self._block[1])
        if self._block and noted.line - self._block[0] > BLOCK:
            self._block = None
        return None

    def _ended(self, noted: Noted, exit_code: re.Match[str], ended_rank: int) -> Noted:
        code = int(exit_code["code"] or -int(exit_code["signal"]))
        fact = facts.Exited(ended_rank, None, -code, -code == 15) if code < 0 else facts.Exited(ended_rank, code, None)
        ended = noted._replace(
            fact=fact._replace(is_first=self.is_cut), pid=number(exit_code["pid"]), time=self._time or noted.time
        )
        if self.is_cut and self._first_rank is not None and len(self._ends) < MAX_OPEN:
            self.earlier = max(self.earlier, self._ends.get(self._first_rank, 0))
            self._ends[self._first_rank] = noted.line
        self._block, self.is_cut, self._time = None, False, None
        return ended
