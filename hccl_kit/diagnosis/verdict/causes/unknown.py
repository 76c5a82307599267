"""The last answer: why nothing can be told, and what to collect so that more can be."""

from __future__ import annotations

import shlex

from hccl_kit.base.wording import listed as shortlist
from hccl_kit.diagnosis.verdict.causes.cause import Case, Cause, cannot_tell, listed, missing_logs
from hccl_kit.diagnosis.verdict.diagnosis import Suspect
from hccl_kit.diagnosis.verdict.phrases import phrase


def unknown(case: Case) -> Cause:
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
    reason = f"the errors of these logs are consequences of another one: {phrase(first.fact)} ({place}){also}"
    fix = f"see `hccl-kit explain {shlex.quote(first.place.file)}`, which explains its lines"
    return cannot_tell(reason, (), errors)._replace(fix=fix)


def if_known(case: Case, cause: Cause) -> Cause:
    """The cause, or "cannot_tell" if the logs do not show which of several processes of a server it is."""
    if cause.certainty == "cannot_tell":
        return cause
    first = cause.suspects[0]
    rank = case.job.by_suspect.get(first)
    if first.rank is not None or first.device is not None or rank is None:
        return cause
    of_worker = sum(other.process.worker == rank.process.worker for other in case.job.ranks)
    if first.server is not None or (of_worker == 1 and not rank.is_cut):
        return cause
    reason = f"a process has failed ({cause.kind}), but its log is cut before it names its rank"
    if not rank.is_cut:
        reason = f"a process has failed ({cause.kind}), but the logs do not show its rank"
    return cause._replace(certainty="cannot_tell", reason=reason)


def with_next_step(case: Case, cause: Cause) -> Cause:
    """The cause; "cannot tell" with what to collect, if it has no fix of its own."""
    if cause.certainty != "cannot_tell" or cause.fix:
        return cause
    job = case.job
    cut = [rank.suspect for rank in job.ranks if rank.is_cut or (rank.record and rank.record.is_cut)]
    if job.silent:
        servers = sorted({silent.server for silent in job.silent if silent.server})
        whose = f"of {shortlist(servers)}" if servers else f"of {listed(job.silent)}"
        step = f"collect the logs {whose} too: with a table, `hccl-kit diagnose TABLE --ssh` reads those of all servers"
    elif cut:
        step = f"collect the logs of {listed(cut)} again, whole and with all their rotated files"
    else:
        suspects = f"of {listed(cause.suspects)}" if cause.suspects else "of all ranks"
        step = (
            f"name what the programs {suspects} printed, the log of their launcher and `dmesg -T` of their servers too"
        )
    return cause._replace(fix=step)
