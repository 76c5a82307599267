"""A process that the launcher found stopped when it ended a job that made no steps."""

from __future__ import annotations

from hccl_kit.base.message import Message
from hccl_kit.diagnosis.facts import JobEnding, ProcessStopped
from hccl_kit.diagnosis.verdict.causes.cause import Case, Cause


def stopped(case: Case) -> Cause | None:
    """The ranks that were stopped. What they and the others do once the launcher continues and ends them is no sign."""
    if not any(isinstance(note.fact, JobEnding) and note.fact.why == "hang" for note in case.job.notes):
        return None
    notes = {note.fact.rank: note for note in case.job.notes if isinstance(note.fact, ProcessStopped)}
    ranks = sorted(notes.keys() & case.job.records.keys())
    if not ranks:
        return None
    step = case.job.records[ranks[0]].step
    return Cause(
        "certain" if len(ranks) == 1 else "likely",
        Message(
            "diagnosis.stopped",
            "unresponsive since step {step}: its process is stopped, as by SIGSTOP or a debugger",
            step=step,
        ),
        case.job.suspects(ranks),
        events=(notes[ranks[0]],),
        fix=Message(
            "diagnosis.stopped.fix",
            "see who stopped it: a debugger, kill -STOP, or the queue, which may suspend jobs",
        ),
        supports=(Message("diagnosis.stopped-seen", "its launcher found it stopped when the job made no steps"),),
    )
