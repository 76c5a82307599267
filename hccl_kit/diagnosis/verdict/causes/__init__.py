"""What may have broken a job: one function per kind of cause, in order of precedence.

Each takes the case and returns a cause, or None if its facts are not there. Records say what each rank did, logs say
whom it waited for. The first answer of each of the two counts; "cannot_tell" is an answer too: it keeps weaker causes
from guessing. Of the two answers the more certain one counts, and that of the records if both are equally certain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import get_args

from hccl_kit.check.rule import Rule
from hccl_kit.diagnosis import first_faults as rules
from hccl_kit.diagnosis.verdict.causes.absence import alone_without_error, only_silent
from hccl_kit.diagnosis.verdict.causes.cause import Case, Cause
from hccl_kit.diagnosis.verdict.causes.chains import chain, cut_off, silent_host
from hccl_kit.diagnosis.verdict.causes.collectives import crossed, left_early, never_began, stopped
from hccl_kit.diagnosis.verdict.causes.collectives import late as behind
from hccl_kit.diagnosis.verdict.causes.compared import arguments, settings, versions
from hccl_kit.diagnosis.verdict.causes.divergence import diverged, mismatched
from hccl_kit.diagnosis.verdict.causes.heartbeats import named_by_heartbeat
from hccl_kit.diagnosis.verdict.causes.interrupted import interrupted
from hccl_kit.diagnosis.verdict.causes.links import detector, error_cqe, late, tls
from hccl_kit.diagnosis.verdict.causes.operators import diverging
from hccl_kit.diagnosis.verdict.causes.own_fault import ended_early, own_fault
from hccl_kit.diagnosis.verdict.causes.recorded import (
    failed,
    finished,
    inconsistent,
    left_alone,
    lost_server,
    stands_still,
    undecided,
    victims,
)
from hccl_kit.diagnosis.verdict.causes.rendezvous import missing_at_root, root_not_reached, wrong_interface
from hccl_kit.diagnosis.verdict.causes.unknown import unknown
from hccl_kit.diagnosis.verdict.diagnosis import Certainty

CERTAINTIES = get_args(Certainty)
Row = tuple[Rule[...] | None, Callable[[Case], Cause | None]]
BY_RECORDS: tuple[Row, ...] = (
    (None, finished),
    (rules.STANDS_STILL, stopped),
    (rules.OTHER_OPERATOR, diverged),
    (rules.OTHER_OPERATOR, mismatched),
    (rules.UNEQUAL_INPUTS, inconsistent),
    (rules.OWN_FAILURE, failed),
    (rules.CUT_OFF, lost_server),
    (rules.STANDS_STILL, stands_still),
    (rules.LEFT_EARLY, left_early),
    (rules.LATE_RANK, behind),
    (rules.ABSENT_RANK, never_began),
    (rules.OTHER_OPERATOR, crossed),
    (rules.LEFT_EARLY, left_alone),
    (rules.FIRST_VICTIM, victims),
    (None, undecided),
)
BY_LOGS: tuple[Row, ...] = (
    (rules.OWN_FAILURE, own_fault),
    (rules.OTHER_RELEASE, versions),
    (rules.OTHER_ARGUMENTS, arguments),
    (rules.OWN_FAILURE, ended_early),
    (rules.UNREACHABLE_ROOT, wrong_interface),
    (rules.ABSENT_RANK, missing_at_root),
    (rules.UNREACHABLE_ROOT, root_not_reached),
    (rules.ABSENT_RANK, only_silent),
    (rules.HEARTBEAT, named_by_heartbeat),
    (rules.LOST_PACKETS, error_cqe),
    (rules.UNEQUAL_TLS, tls),
    (rules.UNEQUAL_VARIABLE, settings),
    (rules.CUT_OFF, cut_off),
    (rules.UNREACHABLE_CARD, detector),
    (rules.OTHER_OPERATOR, diverging),
    (rules.LATE_RANK, late),
    (rules.END_OF_WAITS, chain),
    (rules.CUT_OFF, silent_host),
    (rules.NEVER_TOOK_PART, alone_without_error),
    (None, interrupted),
    (None, unknown),
)
"""Each in order of precedence."""


def cause_of(case: Case) -> Cause:
    """The cause that applies, with the id of its rule."""
    recorded = _first(case, BY_RECORDS)
    if recorded is not None and recorded.certainty == "certain":
        return recorded
    answers = [cause for cause in (recorded, _first(case, BY_LOGS)) if cause is not None]
    return min(answers, key=lambda cause: CERTAINTIES.index(cause.certainty))


def _first(case: Case, rows: Iterable[Row]) -> Cause | None:
    causes = ((rule, ask(case)) for rule, ask in rows)
    return next((cause._replace(rule=rule.id if rule else None) for rule, cause in causes if cause), None)
