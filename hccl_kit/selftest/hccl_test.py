"""The output of hccl_test, the tester that CANN ships: its rows, and those that contradict themselves.

A row has the size of the data in bytes, the time in microseconds, the bandwidth, which is size / time in GB/s, and the
result of the check (success, failed or NULL: not checked).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.selftest.measured import Collective, Operator, algorithm_bandwidth

MAX_ROWS = 10_000
TOLERANCE = 0.01
"""Relative; hccl_test prints two decimals of the time, and published tables often fewer."""

_NUMBER = r"[0-9]{1,15}(?:\.[0-9]{1,9})?"
_GAP = r"[| \t]+"
_ROW = re.compile(
    rf"(?:^|[|>: \t])(?P<size>[1-9][0-9]{{0,14}}){_GAP}(?P<time>{_NUMBER}){_GAP}(?P<bandwidth>{_NUMBER}){_GAP}"
    r"(?P<check>success|failed|NULL)[| \t\r]*$"
)
_MAX_LINE = 400


class Row(NamedTuple):
    """A row of the table; `line` counts from 1."""

    line: int
    size: int
    seconds: float
    bandwidth: float
    check: str

    @property
    def contradiction(self) -> Message | None:
        """Why time and bandwidth cannot both be right; None if they agree."""
        if self.seconds == 0:
            return Message(
                "selftest.no-time", "line {line}: {size} bytes in 0 us is not possible", line=self.line, size=self.size
            )
        real = algorithm_bandwidth(self.size, self.seconds)
        rounding = 0.005  # tables are often cut to two decimals
        if abs(real - self.bandwidth) <= max(rounding, TOLERANCE * real):
            return None
        return Message(
            "selftest.contradiction",
            "line {line}: {size} bytes in {microseconds:g} us are {real:.2f} GB/s, but the row says {written:g} GB/s",
            line=self.line,
            size=self.size,
            microseconds=self.seconds * 1e6,
            real=real,
            written=self.bandwidth,
        )


def read_rows(text: str, name: str) -> tuple[Row, ...]:
    """The rows of the output in `text`, which may have other lines and the prefixes of mpirun.

    Raises KitError if there is none, or more than MAX_ROWS.
    """
    rows: list[Row] = []
    for number, line in enumerate(text.split("\n"), 1):
        match = _ROW.search(line) if len(line) <= _MAX_LINE else None
        if not match:
            continue
        if len(rows) == MAX_ROWS:
            raise KitError(
                "selftest.many-rows",
                "{path} has more than {most} rows of hccl_test",
                fix="cut it to one run",
                path=name,
                most=MAX_ROWS,
            )
        seconds, bandwidth = float(match["time"]) / 1e6, float(match["bandwidth"])
        rows.append(Row(number, int(match["size"]), seconds, bandwidth, match["check"]))
    if not rows:
        raise KitError(
            "selftest.no-row",
            "{path} has no row of hccl_test; a row has the size, time, bandwidth and check result",
            fix="give the whole output of all_reduce_test or another test of hccl_test",
            path=name,
        )
    return tuple(rows)


def collectives_of(rows: Sequence[Row], operator: Operator, ranks: int) -> tuple[Collective, ...]:
    """The rows as measurements of an operator over `ranks`; what contradicts itself or failed its check is a problem.

    The size in a row is taken for that of the whole array, as nccl-tests counts it.
    """
    return tuple(
        Collective(operator, row.size, ranks, row.seconds or None, row.contradiction or _failure(row)) for row in rows
    )


def _failure(row: Row) -> str:
    if row.check != "failed":
        return ""
    return Message("selftest.failed-check", "line {line}: the check of hccl_test failed", line=row.line)
