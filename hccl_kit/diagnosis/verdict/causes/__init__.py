"""What may have broken a job: one function per kind of cause, in the order in which they are believed.

Each takes the case and returns a cause, or None if its facts are not there. The first answer counts; "cannot_tell" is
an answer too, which keeps weaker causes from a guess.
"""

from __future__ import annotations

from collections.abc import Callable

from hccl_kit.diagnosis.verdict.causes.absence import alone_without_error
from hccl_kit.diagnosis.verdict.causes.cause import Case, Cause
from hccl_kit.diagnosis.verdict.causes.chains import chain, cut_off
from hccl_kit.diagnosis.verdict.causes.heartbeats import named_by_heartbeat
from hccl_kit.diagnosis.verdict.causes.links import detector, error_cqe, late, tls
from hccl_kit.diagnosis.verdict.causes.operators import arguments, diverging, versions, waits_for_itself
from hccl_kit.diagnosis.verdict.causes.own_fault import own_fault
from hccl_kit.diagnosis.verdict.causes.rendezvous import missing_at_root, root_not_reached
from hccl_kit.diagnosis.verdict.causes.settings import settings

CAUSES: tuple[Callable[[Case], Cause | None], ...] = (
    own_fault,
    versions,
    arguments,
    missing_at_root,
    root_not_reached,
    named_by_heartbeat,
    error_cqe,
    tls,
    settings,
    cut_off,
    detector,
    waits_for_itself,
    diverging,
    late,
    chain,
    alone_without_error,
)
"""In order of precedence."""
