"""A job that hung until it was interrupted: where each rank was then, by its traceback."""

from __future__ import annotations

from hccl_kit.diagnosis.facts import Fault
from hccl_kit.diagnosis.verdict.causes.cause import Case, Cause, cannot_tell
from hccl_kit.diagnosis.verdict.names import rank_names

_INTERRUPT = "KeyboardInterrupt"


def interrupted(case: Case) -> Cause | None:
    """The ranks that were in code of the user, if as many others or more waited in a framework.

    They are no more than suspects: the job may have been well. A rank that has no traceback was in native code, as in a
    collective, until its launcher ended it.
    """
    at = {rank.suspect: (event, fact) for rank, event, fact in case.facts(Fault) if fact.text.startswith(_INTERRUPT)}
    in_program = {suspect: fact.raised_at for suspect, (_, fact) in at.items() if fact.raised_at and not fact.waits}
    native = case.job.ended_by_launcher - {suspect.rank for suspect in at}
    known = {*at, *(suspect for suspect in case.job.everyone if suspect.rank in native)}
    number = sum(fact.waits for _, fact in at.values()) + len(native)
    if not in_program or len(in_program) + number < len({*known, *case.job.everyone}) or number < len(in_program):
        return None
    return cannot_tell(
        "diagnosis.interrupted",
        "the job was interrupted; if it hung, it was at {place} of {ranks}: the others ({number}) waited in native code"
        " or in that of torch or MindSpore",
        in_program,
        [at[suspect][0] for suspect in in_program],
        fix="if it hung, look at what {place} does or waits for",
        ranks=rank_names(in_program),
        place=next(iter(in_program.values())),
        number=number,
    )
