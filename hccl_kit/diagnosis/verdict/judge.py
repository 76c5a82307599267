"""The diagnosis of a job from its evidence."""

from __future__ import annotations

import shlex

from hccl_kit.diagnosis.facts import (
    ArgumentMismatch,
    Connected,
    ErrorCqe,
    Event,
    Evidence,
    Fact,
    Fault,
    Heartbeat,
    JoinFailed,
    LinkFailed,
    LinkRow,
    LinkTimedOut,
    ListenFailed,
    NeverConnected,
    OperatorTimedOut,
    P2PTimedOut,
    PeerClosed,
    Place,
    RootSilent,
    RootUnreachable,
    Setting,
    Unreachable,
    VersionMismatch,
    Watchdog,
)
from hccl_kit.diagnosis.verdict.assembly import assemble
from hccl_kit.diagnosis.verdict.causes import cause_of
from hccl_kit.diagnosis.verdict.causes.cause import Case, Cause, cannot_tell, listed, missing_logs
from hccl_kit.diagnosis.verdict.clocks import AGREEMENT, Clocks, apart, estimate
from hccl_kit.diagnosis.verdict.diagnosis import Diagnosis, FirstFault, RankLine, Suspect
from hccl_kit.diagnosis.verdict.job import Job
from hccl_kit.diagnosis.verdict.location import where
from hccl_kit.diagnosis.verdict.together import with_times
from hccl_kit.diagnosis.verdict.waits import WAITING, cascade, waits
from hccl_kit.table.model import RankTable

MAX_EVIDENCE = 16
MAX_MOMENTS = 16
"""Moments of a rank on the timeline."""
_COMPARED = ("HCCL_CONNECT_TIMEOUT", "HCCL_EXEC_TIMEOUT", "HCCL_IF_BASE_PORT", "HCCL_RDMA_TIMEOUT")


def judge(evidence: Evidence, table: RankTable | None = None) -> Diagnosis:
    """Who broke the job, as far as the evidence tells."""
    job = assemble(evidence, table)
    case = Case(job, waits(job), estimate(job))
    cause = _if_known(cause_of(case) or _unknown(case), job)
    first = cause.suspects[0] if cause.certainty != "cannot_tell" and cause.suspects else None
    event = cause.events[0] if cause.events else None
    fault = None
    if first is not None:
        time, place = (event.time, event.place) if event else (None, None)
        fault = FirstFault(first, cause.code, time, cause.kind, place, cause.rule)
    ends = apart(job, case.waits, case.clocks)
    offsets = {**case.clocks.offsets, **ends.offsets}
    diagnosis = Diagnosis(
        certainty=cause.certainty,
        first_fault=fault,
        suspects=tuple(dict.fromkeys(cause.suspects)),
        cascade=tuple(cascade(job, case.waits, frozenset((first,)) if first else frozenset())),
        silent=job.silent,
        clock_offsets={worker: -seconds for worker, seconds in offsets.items() if seconds},
        links=case.clocks.links + ends.links,
        evidence=tuple(dict.fromkeys(one.place for one in cause.events))[:MAX_EVIDENCE],
        reason=cause.reason,
        fix=cause.fix,
        supports=cause.supports,
        contradicts=cause.contradicts,
        ranks=tuple(
            RankLine(rank.suspect, _moments(case.clocks, job.clock[rank.process], rank.events)) for rank in job.ranks
        ),
        notes=(*_of_ends(ends), *_differences(job), *evidence.notes),
        blame=cause.blame,
    )
    if fault is not None:
        diagnosis = diagnosis._replace(where=where(diagnosis.suspects, job.everyone))
    return with_times(diagnosis, evidence, job.left_out)


def _if_known(cause: Cause, job: Job) -> Cause:
    """The cause, or "cannot_tell" if the logs do not show which of several processes of a server it is."""
    if cause.certainty == "cannot_tell":
        return cause
    first = cause.suspects[0]
    rank = job.by_suspect.get(first)
    if first.rank is not None or first.device is not None or rank is None:
        return cause
    of_worker = sum(other.process.worker == rank.process.worker for other in job.ranks)
    if first.server is not None or (of_worker == 1 and not rank.is_cut):
        return cause
    reason = f"a process has failed ({cause.kind}), but its log is cut before it names its rank"
    if not rank.is_cut:
        reason = f"a process has failed ({cause.kind}), but the logs do not show its rank"
    return cause._replace(certainty="cannot_tell", reason=reason)


def _unknown(case: Case) -> Cause:
    events = [edge.event for edge in case.waits.edges]
    if not case.job.ranks:
        nothing = cannot_tell("no line of these logs is known as an error or as one of a rank")
        return nothing._replace(fix="`hccl-kit explain FILE` knows the messages of more programs")
    if not case.waits.waiting:
        return _without_waits(case)
    if missing := missing_logs(case.job):
        return cannot_tell(missing, (), events)
    if case.waits.targets and not case.waits.ends:
        return cannot_tell(
            f"{listed(case.waits.rings)} wait for each other, in the same operator as far as the logs show", (), events
        )
    if lost := _without_log(case):
        return cannot_tell(f"there is no log of {listed(lost)}, for which others waited", lost, events)
    return cannot_tell("the logs have only timeouts, and none names the rank that was waited for", (), events)


def _without_log(case: Case) -> list[Suspect]:
    """The ranks that others waited for and that left no log."""
    peers = {edge.target or edge.peer for edge in case.waits.edges if edge.may_be_cause} - {None}
    lost = [peer for peer in peers if peer and peer not in case.job.by_suspect and peer.rank not in case.job.by_number]
    return sorted(lost, key=str)


def _without_waits(case: Case) -> Cause:
    """No rank has a fault of its own, and none is seen to wait."""
    also = f", but {missing_logs(case.job)}" if case.job.silent else ""
    errors = [event for rank in case.job.ranks for event in rank.errors]
    if not errors:
        return cannot_tell(f"no log has an error that shows a cause{also}")
    first = min(errors, key=lambda event: (event.time is None, event.time or 0.0))
    place = f"{first.place.file}:{first.place.line}"
    reason = f"the errors of these logs are consequences of another one: {_phrase(first.fact)} ({place}){also}"
    fix = f"see `hccl-kit explain {shlex.quote(first.place.file)}`, which explains its lines"
    return cannot_tell(reason, (), errors)._replace(fix=fix)


def _moments(clocks: Clocks, worker: str, events: tuple[Event, ...]) -> tuple[tuple[float | None, str, Place], ...]:
    telling = [event for event in events if event.is_error or isinstance(event.fact, WAITING)]
    return tuple(
        (
            event.time if (time := clocks.corrected(worker, event.time)) is None else time,
            _phrase(event.fact),
            event.place,
        )
        for event in telling[:MAX_MOMENTS]
    )


def _of_ends(ends: Clocks) -> tuple[str, ...]:
    """A note on how uncertain the offsets are that were estimated from the ends of links."""
    if not any(abs(seconds) > AGREEMENT for seconds in ends.offsets.values()):
        return ()
    return (
        f"the clocks of {', '.join(sorted(ends.offsets))} are estimated from when both ends of links gave up: the "
        "clock of a server whose ranks started later seems to be ahead",
    )


_PHRASES: dict[type, str] = {
    ListenFailed: "could not listen on a port",
    LinkTimedOut: "timed out on a link",
    LinkRow: "timed out on a link",
    LinkFailed: "could not build a link",
    P2PTimedOut: "timed out on the link to a card of its server",
    Unreachable: "found a broken connection",
    Connected: "counted the ranks that had joined",
    NeverConnected: "counted the ranks that had not joined",
    RootUnreachable: "could not reach the root",
    RootSilent: "got no answer from the root",
    JoinFailed: "could not join",
    OperatorTimedOut: "timed out in an operator",
    Heartbeat: "reported the heartbeat of another rank",
    ErrorCqe: "lost packets",
    ArgumentMismatch: "found different arguments on a peer",
    VersionMismatch: "found a different release on a peer",
    PeerClosed: "lost the connection to a peer",
    Watchdog: "timed out in a collective",
}


def _phrase(fact: Fact) -> str:
    """What happened, for a timeline."""
    return fact.kind if isinstance(fact, Fault) else _PHRASES.get(type(fact), "reported an error")


def _differences(job: Job) -> tuple[str, ...]:
    """Settings that differ between ranks."""
    found: dict[str, dict[str, list[object]]] = {}
    for rank in job.ranks:
        for event in rank.events:
            if isinstance(event.fact, Setting) and event.fact.name in _COMPARED:
                found.setdefault(event.fact.name, {}).setdefault(event.fact.value, []).append(rank.suspect)
    return tuple(
        f"{name} differs between ranks: {', '.join(sorted(values))}"
        for name, values in found.items()
        if len(values) > 1
    )
