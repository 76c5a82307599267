"""What may have broken a job: one function per kind of cause, in order of precedence.

Each takes the case and returns a cause, or None if its facts are not there. The first answer counts; "cannot_tell" is
an answer too: it keeps weaker causes from guessing.
"""

from __future__ import annotations

from collections.abc import Callable

from hccl_kit.check.rule import Rule
from hccl_kit.diagnosis import first_faults as rules
from hccl_kit.diagnosis.verdict.causes.absence import alone_without_error, only_silent
from hccl_kit.diagnosis.verdict.causes.cause import Case, Cause
from hccl_kit.diagnosis.verdict.causes.chains import chain, cut_off, silent_host
from hccl_kit.diagnosis.verdict.causes.heartbeats import named_by_heartbeat
from hccl_kit.diagnosis.verdict.causes.links import detector, error_cqe, late, tls
from hccl_kit.diagnosis.verdict.causes.operators import arguments, diverging, versions, waits_for_itself
from hccl_kit.diagnosis.verdict.causes.own_fault import ended_early, own_fault
from hccl_kit.diagnosis.verdict.causes.rendezvous import missing_at_root, root_not_reached, wrong_interface
from hccl_kit.diagnosis.verdict.causes.settings import settings

CAUSES: tuple[tuple[Rule[...], Callable[[Case], Cause | None]], ...] = (
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
    (rules.WAITS_FOR_ITSELF, waits_for_itself),
    (rules.OTHER_OPERATOR, diverging),
    (rules.LATE_RANK, late),
    (rules.END_OF_WAITS, chain),
    (rules.CUT_OFF, silent_host),
    (rules.NEVER_TOOK_PART, alone_without_error),
)
"""In order of precedence."""


def cause_of(case: Case) -> Cause | None:
    """The first that applies, with the id of its rule; None if none does."""
    return next((found._replace(rule=rule.id) for rule, ask in CAUSES if (found := ask(case)) is not None), None)
