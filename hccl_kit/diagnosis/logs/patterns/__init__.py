"""The table of all lines that state facts. To add a pattern: a row in a module of this folder, or a new module."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from hccl_kit.diagnosis.facts import Fact, Fault
from hccl_kit.diagnosis.logs.patterns import (
    faults,
    heartbeats,
    joining,
    launchers,
    links,
    open_mpi,
    operators,
    progress,
    settings,
)
from hccl_kit.diagnosis.logs.patterns.row import Found, Row
from hccl_kit.diagnosis.logs.plog import Record

ROWS: tuple[Row, ...] = (
    *joining.ROWS,
    *links.ROWS,
    *operators.ROWS,
    *heartbeats.ROWS,
    *settings.ROWS,
    *progress.ROWS,
    *launchers.ROWS,
    *open_mpi.ROWS,
    *faults.ROWS,
)


KEYS = (*dict.fromkeys(row.key for row in ROWS), *faults.KEYS)
"""The texts of which a line has one, or it states no fact."""


def facts_of(record: Record) -> Iterator[Fact]:
    """The facts that a record states by itself."""
    facts = [_known(fact, record) for fact in _of_rows(record)]
    has_fault = any(isinstance(fact, Fault) for fact in facts)
    if not has_fault and not (facts and record.module in faults.OF_LINKS) and (fault := faults.of_record(record)):
        facts.append(_known(fault, record))
    yield from facts


def _of_rows(record: Record) -> Iterator[Fact]:
    seen: set[str] = set()  # rows with several keys are several rows
    for row in ROWS:
        at = record.text.find(row.key)
        if at < 0 or row.pattern in seen or (row.whole and not record.is_whole):
            continue
        if match := _compiled(row.pattern).search(record.text, 0 if row.before else at):
            seen.add(row.pattern)
            yield from row.make(Found(record, match))


def _known(fact: Fact, record: Record) -> Fact:
    return faults.known(fact, record.text, of_ascend=record.level is not None) if isinstance(fact, Fault) else fact


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """A pattern, compiled when a line has the key of its row: most jobs have few of these lines."""
    return re.compile(pattern)
