"""The diagnosis of a job from its evidence, with what happened to each rank on a timeline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hccl_kit.base.message import Message
from hccl_kit.base.wording import clauses
from hccl_kit.diagnosis.facts import Evidence, Place, ProgramEnded
from hccl_kit.diagnosis.verdict.assembly import assemble
from hccl_kit.diagnosis.verdict.causes import cause_of
from hccl_kit.diagnosis.verdict.causes.cause import Case, Cause
from hccl_kit.diagnosis.verdict.causes.unknown import if_known, with_next_step
from hccl_kit.diagnosis.verdict.clocks import AGREEMENT, Clocks, apart, estimate
from hccl_kit.diagnosis.verdict.diagnosis import Diagnosis, FirstFault, Moment, RankLine, Wait, where
from hccl_kit.diagnosis.verdict.endings import ended
from hccl_kit.diagnosis.verdict.job import Job, Rank, holders
from hccl_kit.diagnosis.verdict.names import phrase
from hccl_kit.diagnosis.verdict.records import Record
from hccl_kit.diagnosis.verdict.run_folders import of_last_run
from hccl_kit.diagnosis.verdict.runs import with_times
from hccl_kit.diagnosis.verdict.waits import WAITING, cascade, waits
from hccl_kit.table.model import RankTable

MAX_EVIDENCE = 16
_COMPARED = ("HCCL_CONNECT_TIMEOUT", "HCCL_EXEC_TIMEOUT", "HCCL_IF_BASE_PORT", "HCCL_RDMA_TIMEOUT")


def judge(evidence: Evidence, table: RankTable | None = None) -> Diagnosis:
    """Who broke the job, as far as the evidence tells."""
    of_run, of_other_runs = of_last_run(evidence)
    job = assemble(of_run, table)
    case = Case(job, waits(job), estimate(job))
    cause = with_next_step(case, if_known(case, cause_of(case)))
    fault = _first_fault(cause)
    ends = apart(job, case.waits, case.clocks)
    offsets = {**case.clocks.offsets, **ends.offsets}
    others = tuple(cascade(job, case.waits, fault.suspect if fault else None))
    suspects = tuple(dict.fromkeys(cause.suspects))
    diagnosis = Diagnosis(
        certainty=cause.certainty,
        first_fault=fault,
        suspects=suspects,
        cascade=others,
        silent=job.silent,
        clock_offsets={worker: -seconds for worker, seconds in offsets.items() if seconds},
        links=case.clocks.links + ends.links,
        evidence=_evidence(cause, others),
        reason=cause.reason,
        fix=cause.fix,
        supports=cause.supports,
        contradicts=cause.contradicts,
        ranks=tuple(RankLine(rank.suspect, tuple(moments(case, rank))) for rank in job.ranks),
        notes=(*_note_on_ends(ends), *_differences(job), *evidence.notes),
        where=where(suspects, job.everyone) if fault else None,
        blame=cause.blame,
        files=frozenset(file.file for file in of_run.files if file.process not in job.left_out),
    )
    return with_times(diagnosis, evidence, job.left_out | of_other_runs)


def _first_fault(cause: Cause) -> FirstFault | None:
    if cause.certainty == "cannot_tell" or not cause.suspects:
        return None
    time, place = (cause.events[0].time, cause.events[0].place) if cause.events else (None, None)
    return FirstFault(cause.suspects[0], cause.code, time, cause.kind, place, cause.rule)


def _evidence(cause: Cause, others: Iterable[Wait]) -> tuple[Place, ...]:
    """The places that show the cause; those of waits are shown by records only, which give them no code."""
    of_records = (wait.place for wait in others if wait.code is None and wait.place)
    return tuple(dict.fromkeys((*(event.place for event in cause.events), *of_records)))[:MAX_EVIDENCE]


def _note_on_ends(ends: Clocks) -> tuple[str, ...]:
    """A note on how uncertain the offsets are that were estimated from the ends of links."""
    if not any(abs(seconds) > AGREEMENT for seconds in ends.offsets.values()):
        return ()
    return (
        Message(
            "diagnosis.clocks-of-ends",
            "the clocks of {servers} are estimated from when both ends of links gave up: the clock of a server whose"
            " ranks started later seems to be ahead",
            servers=clauses(sorted(ends.offsets)),
        ),
    )


def _differences(job: Job) -> tuple[str, ...]:
    """Settings that differ between ranks."""
    return tuple(
        Message(
            "diagnosis.differs", "{name} differs between ranks: {values}", name=name, values=clauses(sorted(values))
        )
        for name, values in holders(job.ranks, _COMPARED).items()
        if len(values) > 1
    )


MAX_MOMENTS = 16
"""Moments of the logs of a rank."""


def moments(case: Case, rank: Rank) -> Iterator[Moment]:
    """What the logs of a rank say of failures and waits, and then the last that its record has."""
    telling = [
        event
        for event in rank.events
        if (event.is_error and not isinstance(event.fact, ProgramEnded)) or isinstance(event.fact, WAITING)
    ]
    telling_moments = [(event.time, phrase(event.fact), event.place) for event in telling[:MAX_MOMENTS]]
    if rank.record is not None:
        telling_moments += _last_moments(rank.record)
    clock = case.job.clock[rank.process]
    for time, words, place in telling_moments:
        corrected = case.clocks.corrected(clock, time)
        yield time if corrected is None else corrected, words, place


def _last_moments(record: Record) -> Iterator[Moment]:
    if last := record.last:
        collective = f"{last.operator} {last.sequence}"
        yield (
            last.event.time,
            Message("diagnosis.entered", "entered {collective}, step {step}", collective=collective, step=last.step),
            last.event.place,
        )
        if last.left is not None:
            yield last.left, Message("diagnosis.left", "left {collective}", collective=collective), last.event.place
    if record.alive:
        yield record.alive.time, Message("diagnosis.last-sign", "last sign of life"), record.alive.place
    if end := record.end:
        by_itself = Message("diagnosis.ended-with", "ended: {error}", error=end.how)
        yield end.event.time, by_itself if end.how else ended(end.signal, end.code), end.event.place
