"""The diagnosis of a job by the records of its ranks."""

from __future__ import annotations

from hccl_kit.diagnosis.facts import Evidence, Place
from hccl_kit.diagnosis.verdict.diagnosis import Diagnosis, FirstFault, RankLine, Suspect, Wait
from hccl_kit.diagnosis.verdict.endings import ended
from hccl_kit.diagnosis.verdict.location import where
from hccl_kit.diagnosis.verdict.recorded.assembly import job_of
from hccl_kit.diagnosis.verdict.recorded.cause import Cause
from hccl_kit.diagnosis.verdict.recorded.causes import cause_of
from hccl_kit.diagnosis.verdict.recorded.job import Job, Rank
from hccl_kit.diagnosis.verdict.together import with_times

LEAST_OFFSET = 1.0
"""Seconds by which clocks must differ to be reported."""


def judge_recorded(evidence: Evidence) -> Diagnosis | None:
    """The diagnosis, or None if there are no records of ours. A job that ended well has no first fault."""
    job = job_of(evidence)
    if job is None:
        return None
    ranks = job.ranks.values()
    if not job.missing and all(rank.end and rank.end.how == "done" for rank in ranks):
        cause, reason = None, "cannot tell, because every rank finished normally"
    else:
        cause, reason = cause_of(job), "cannot tell, because no rank differs from the others"
    suspects = cause.ranks if cause else ()
    if cause and cause.certainty == "cannot_tell":
        reason = f"cannot tell, because {cause.why}"
        cause = None
    blamed = cause.ranks if cause else ()
    everyone = [_suspect(job, number) for number in (*job.ranks, *job.missing)]
    cascade = [_wait(job, rank, blamed) for rank in ranks if cause and rank.number not in blamed[:1] and _waits(rank)]
    diagnosis = Diagnosis(
        certainty=cause.certainty if cause else "cannot_tell",
        first_fault=_first_fault(job, cause) if cause else None,
        suspects=tuple(_suspect(job, number) for number in suspects),
        cascade=tuple(cascade),
        silent=tuple(_suspect(job, number) for number in job.missing),
        clock_offsets={
            rank.host: round(rank.offset, 3) for rank in ranks if rank.host and abs(rank.offset) > LEAST_OFFSET
        },
        links=0,
        evidence=_places(cause, cascade),
        reason="" if cause else reason,
        fix=cause.fix if cause else "",
        supports=(cause.why,) if cause else (),
        contradicts=(),
        ranks=tuple(_line(job, rank) for rank in ranks),
        notes=evidence.notes,
        where=where([_suspect(job, number) for number in cause.ranks], everyone) if cause and cause.ranks else None,
        blame=cause.blame if cause else None,
    )
    return with_times(diagnosis, evidence, job.left_out)


def _first_fault(job: Job, cause: Cause) -> FirstFault:
    suspect = _suspect(job, cause.ranks[0]) if cause.ranks else Suspect(None, cause.server, None)
    if cause.server:
        suspect = suspect._replace(server=cause.server)
    rank = job.ranks.get(cause.ranks[0]) if cause.ranks else None
    time = rank.corrected(cause.time) if rank else cause.time
    return FirstFault(suspect, None, time, cause.kind, cause.place, cause.rule)


def _suspect(job: Job, number: int) -> Suspect:
    rank = job.ranks.get(number)
    return Suspect(number, rank.host if rank else None, rank.device if rank else None)


def _waits(rank: Rank) -> bool:
    return rank.inside is not None or (rank.end is not None and rank.end.how != "done")


def _wait(job: Job, rank: Rank, blamed: tuple[int, ...]) -> Wait:
    entry = rank.inside
    when = entry.begun if entry else rank.end.time if rank.end else None
    place = entry.place if entry else rank.end.place if rank.end else None
    waits_for = _suspect(job, blamed[0]) if blamed else None
    return Wait(_suspect(job, rank.number), waits_for, None, rank.corrected(when), place)


def _places(cause: Cause | None, cascade: list[Wait]) -> tuple[Place, ...]:
    places = [cause.place] if cause and cause.place else []
    return (*places, *(wait.place for wait in cascade if wait.place))


def _line(job: Job, rank: Rank) -> RankLine:
    moments: list[tuple[float | None, str, Place]] = []
    last = rank.last
    if last is not None:
        moments.append(
            (rank.corrected(last.begun), f"entered {last.operator} {last.sequence}, step {last.step}", last.place)
        )
        if last.left is not None:
            moments.append((rank.corrected(last.left), f"left {last.operator} {last.sequence}", last.place))
    if rank.alive is not None and rank.place is not None:
        moments.append((rank.corrected(rank.alive), "last sign of life", rank.place))
    if rank.end is not None:
        what = f"ended: {rank.end.how}" if rank.end.how else ended(rank.end.signal, rank.end.code)
        moments.append((rank.corrected(rank.end.time), what, rank.end.place))
    moments.sort(key=lambda moment: (moment[0] is None, moment[0] or 0.0))
    return RankLine(_suspect(job, rank.number), tuple(moments))
