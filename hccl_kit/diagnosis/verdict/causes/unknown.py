"""The last answer: why nothing can be told, and what to collect so that more can be."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from hccl_kit.base.message import Message
from hccl_kit.base.wording import listed
from hccl_kit.diagnosis.facts import Event, OperatorTimedOut
from hccl_kit.diagnosis.verdict.causes.cause import Case, Cause, cannot_tell, missing_logs
from hccl_kit.diagnosis.verdict.causes.rank_fault import failed_ends
from hccl_kit.diagnosis.verdict.diagnosis import Suspect
from hccl_kit.diagnosis.verdict.names import phrase, place_name, rank_names

MOST_AWAITED = 3
"""Awaited ranks of groups that are named."""


def unknown(case: Case) -> Cause:
    events = [edge.event for edge in case.waits.edges]
    if not case.job.ranks:
        return _without_ranks(case)
    if not case.waits.waiting:
        return _without_waits(case)
    if missing := missing_logs(case.job):
        return cannot_tell(missing, None, (), events)
    if case.waits.targets and not case.waits.ends:
        return cannot_tell(
            "diagnosis.ring",
            "{ranks} wait for each other, in the same operator as far as the logs show",
            (),
            events,
            ranks=rank_names(case.waits.rings),
        )
    if lost := _without_log(case):
        reason = Message(
            "diagnosis.no-log", "there is no log of {ranks}, for which others waited", ranks=rank_names(lost)
        )
        return cannot_tell(reason, None, lost, events)
    return _only_timeouts(case, events)


def _without_ranks(case: Case) -> Cause:
    """Nothing is of a rank; a launcher may have seen several ranks end in one second."""
    if not (ends := failed_ends(case.job)):
        return cannot_tell(
            "diagnosis.nothing-known",
            "no line of these logs is known as an error or as one of a rank",
            fix="`hccl-kit explain FILE` knows the messages of more programs",
        )
    time = min(event.time or 0.0 for event, _ in ends)
    first = [(event, end) for event, end in ends if (event.time or 0.0) == time]
    ranks = [Suspect(rank, None, None) for rank in sorted({end.rank for _, end in first})]
    return cannot_tell(
        "diagnosis.together",
        "{ranks} ended in the same second, as their launcher says; their output is not in these logs",
        ranks,
        [event for event, _ in first],
        ranks=rank_names(ranks),
    )


def _only_timeouts(case: Case, events: Sequence[Event]) -> Cause:
    """Ranks waited, and the logs do not tell for which rank of the job."""
    awaited = dict.fromkeys(
        Message("diagnosis.rank-of-group", "rank {rank} of the group {group}", rank=fact.awaited, group=fact.group)
        for edge in case.waits.edges
        if edge.target is None and isinstance(fact := edge.event.fact, OperatorTimedOut) and fact.group
    )
    if awaited:
        return cannot_tell(
            "diagnosis.rank-of-group-only",
            "the logs have only timeouts, which wait for {ranks}, and do not show which rank of the job that is",
            (),
            events,
            fix="collect the plogs (debug and run) of all ranks: they show which ranks are in the group",
            ranks=listed(awaited, MOST_AWAITED),
        )
    return cannot_tell(
        "diagnosis.only-timeouts",
        "the logs have only timeouts, and none names the rank that was waited for",
        (),
        events,
    )


def _without_log(case: Case) -> list[Suspect]:
    """The ranks that others waited for and that left no log."""
    peers = {edge.target or edge.peer for edge in case.waits.edges if edge.may_be_cause} - {None}
    lost = [peer for peer in peers if peer and peer not in case.job.by_suspect and peer.rank not in case.job.by_number]
    return sorted(lost, key=str)


def _without_waits(case: Case) -> Cause:
    """No rank has a fault of its own, and none is seen to wait."""
    errors = [event for rank in case.job.ranks for event in rank.errors]
    if not errors:
        return _with_missing(cannot_tell("diagnosis.no-cause", "no log has an error that shows a cause"), case)
    first = min(errors, key=lambda event: (event.time is None, event.time or 0.0))
    cause = cannot_tell(
        "diagnosis.consequences",
        "the errors of these logs are consequences of another one: {what} ({place})",
        (),
        errors,
        hint=Message(
            "diagnosis.consequences.fix",
            "see `hccl-kit explain {file}`, which explains its lines",
            file=shlex.quote(first.place.file),
        ),
        what=phrase(first.fact),
        place=place_name(first.place),
    )
    return _with_missing(cause, case)


def _with_missing(cause: Cause, case: Case) -> Cause:
    """The cause, whose reason also says which logs are missing."""
    if not (missing := missing_logs(case.job)):
        return cause
    reason = Message("diagnosis.but-missing", "{reason}, but {missing}", reason=cause.reason, missing=missing)
    return cause._replace(reason=reason)


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
    reason = (
        Message(
            "diagnosis.cut-rank",
            "a process has failed ({kind}), but its log is cut before it names its rank",
            kind=cause.kind,
        )
        if rank.is_cut
        else Message(
            "diagnosis.no-rank", "a process has failed ({kind}), but the logs do not show its rank", kind=cause.kind
        )
    )
    return cause._replace(certainty="cannot_tell", reason=reason)


def with_next_step(case: Case, cause: Cause) -> Cause:
    """The cause; "cannot tell" with what to collect, if it has no fix of its own."""
    if cause.certainty != "cannot_tell" or cause.fix:
        return cause
    job = case.job
    cut = [rank.suspect for rank in job.ranks if rank.is_cut or (rank.record and rank.record.is_cut)]
    if job.silent:
        step = Message(
            "diagnosis.collect-silent",
            "collect the logs of {owners} too: with a table, `hccl-kit diagnose TABLE --ssh` reads those of all"
            " servers",
            owners=listed(sorted({silent.server for silent in job.silent if silent.server})) or rank_names(job.silent),
        )
    elif cut:
        step = Message(
            "diagnosis.collect-cut",
            "collect the logs of {ranks} again, whole and with all their rotated files",
            ranks=rank_names(cut),
        )
    else:
        step = Message(
            "diagnosis.collect-output",
            "name what the programs of {ranks} printed, the log of their launcher and `dmesg -T` of their servers too",
            ranks=rank_names(suspect for suspect in cause.suspects if suspect != Suspect(None, None, None))
            or Message("diagnosis.every-rank", "all ranks"),
        )
    return cause._replace(fix=step)
