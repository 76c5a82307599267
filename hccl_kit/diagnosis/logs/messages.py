"""The facts that a record states by itself: those of the rows of its message, or that there is an error."""

from __future__ import annotations

from collections.abc import Iterator

from hccl_kit.diagnosis.errors.answers import candidates
from hccl_kit.diagnosis.errors.message import LogMessage
from hccl_kit.diagnosis.errors.row import literal_of
from hccl_kit.diagnosis.errors.table import ROWS
from hccl_kit.diagnosis.facts import Fact, Fault
from hccl_kit.diagnosis.logs import faults
from hccl_kit.diagnosis.logs.plog import Record

KEYS = (*dict.fromkeys(literal_of(text) for row in ROWS if row.fact for text in row.patterns), *faults.KEYS)
"""The texts of which a line has one, or it states no fact."""


def facts_of(record: Record) -> Iterator[Fact]:
    """The facts that a record states by itself."""
    stated = dict.fromkeys((*_facts_of_rows(record), *faults.of_codes(record)))  # two rows may state one fact
    facts = [_known(fact, record) for fact in stated]
    has_fault = any(isinstance(fact, Fault) for fact in facts)
    if not has_fault and not (facts and record.module in faults.OF_LINKS) and (fault := faults.of_record(record)):
        facts.append(_known(fault, record))
    yield from facts


def _facts_of_rows(record: Record) -> Iterator[Fact]:
    for row in candidates(record.text):
        if row.fact and (match := row.stated_in(record.text)):
            who = record.origin
            yield from row.fact(
                LogMessage(record.text, match, record.level, record.is_whole, record.time, who.rank, who.server)
            )


def _known(fact: Fact, record: Record) -> Fact:
    return faults.known(fact, record.text, of_ascend=record.level is not None) if isinstance(fact, Fault) else fact
