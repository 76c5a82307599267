"""Whether a rank whose log is lost or cut may have failed before the first fault that is known."""

from __future__ import annotations

from collections.abc import Iterator, Set
from math import inf

from hccl_kit.diagnosis.facts import Heartbeat, OperatorTimedOut
from hccl_kit.diagnosis.verdict.causes.cause import Case, Cause, by_rank, cannot_tell
from hccl_kit.diagnosis.verdict.causes.links import CONNECT_TIMEOUT, EXEC_TIMEOUT, LINK_FACTS, timeout
from hccl_kit.diagnosis.verdict.causes.rank_fault import RankFault, failed_ends
from hccl_kit.diagnosis.verdict.diagnosis import Suspect
from hccl_kit.diagnosis.verdict.names import rank_name, rank_names

MARGIN_OF_ENDS = 30.0
"""Seconds by which a fault must be apart from another moment where only the end of its process is known, which comes
some seconds after its error."""
ENOUGH = 3
"""Number of ranks that wait for the same one, from which on it is not one that only passes the wait on."""


def may_be_earlier(case: Case, first: RankFault) -> Cause | None:
    """The answer if a rank whose log is lost or cut may have failed before; None if nothing suggests that.

    Others wait for it, and none for the rank with the fault; their heartbeats call it lost; its launcher saw it end,
    and not later; some began to wait long before the fault; or most logs are lost, and the others do not show that any
    rank waited for the one with the fault.
    """
    unread = case.unread - {case.job.by_number.get(rank) for rank in _ended_later(case, first.suspect)}
    others = _lost(case, first.suspect, unread) or _awaited(case, first.suspect, unread) or _ended(case, first, unread)
    if not others and (
        _has_begun_before(case, first) or (not case.waits.waiting and len(unread) * 2 > (case.job.size or inf))
    ):
        others = sorted(unread, key=by_rank)
    if not others:
        return None
    return cannot_tell(
        "diagnosis.perhaps-earlier",
        "{rank} has failed by itself ({error}), but {others} may have failed before",
        [first.suspect, *others],
        [first.event],
        rank=rank_name(first.suspect),
        error=first.kind,
        others=rank_names(others),
    )


def time_of(case: Case, fault: RankFault) -> float | None:
    """When a rank failed, or else when its launcher saw it end."""
    return case.job.seen_ends.get(fault.suspect) if fault.event.time is None else fault.event.time


def _ended_later(case: Case, first: Suspect) -> Iterator[int]:
    """The ranks of a launcher that names the end of this one as the first."""
    files = {event.place.file for event, end in case.job.exits if end.is_first and end.rank == first.rank}
    yield from (end.rank for event, end in case.job.exits if event.place.file in files)


def _lost(case: Case, first: Suspect, unread: Set[Suspect]) -> list[Suspect]:
    """Those that heartbeats call lost before a process failed: a job that has failed loses its ranks."""
    lost = {
        suspect
        for rank, event, fact in case.facts(Heartbeat)
        if event.time is not None and event.time < case.failures.get(case.job.clock[rank.process], inf)
        if (suspect := case.job.at_card(fact.culprit)) in unread or suspect not in case.job.by_suspect
        if fact.culprit.server != first.server
    }
    may_be_first = first.server is None and [suspect.rank for suspect in lost] == [None]  # on a card of its own
    return [] if may_be_first else sorted(lost, key=by_rank)


def _ended(case: Case, first: RankFault, unread: Set[Suspect]) -> list[Suspect]:
    """Those that a launcher saw end by themselves, unless that was later than the fault by clocks that compare.

    Ranks without a log count if they are half of the job: of fewer, more have ended because of the fault.
    """
    time, clock = time_of(case, first), case.clock_of(first.suspect, first.event)
    ends = {suspect: case.job.seen_ends[suspect] for suspect in unread & case.job.seen_ends.keys()}
    moments = {
        suspect: case.at(case.job.clock[case.job.by_suspect[suspect].process], clock, end)
        for suspect, end in ends.items()
    }
    if len(unread) * 2 >= (case.job.size or inf):  # of ranks without a log only the ends are known
        numbers = {suspect.rank: suspect for suspect in unread if suspect.rank is not None and suspect not in ends}
        for event, end in failed_ends(case.job):
            if suspect := numbers.get(end.rank):
                moments[suspect] = case.at(event.process.worker, clock, event.time)
    later = {
        suspect for suspect, moment in moments.items() if None not in (time, moment) and (moment or 0.0) > (time or 0.0)
    }
    return sorted(moments.keys() - later, key=by_rank)


def _awaited(case: Case, first: Suspect, unread: Set[Suspect]) -> list[Suspect]:
    """Those that several ranks wait for, while none waits for the rank with the fault."""
    if first in case.waits.awaited:
        return []
    sources = case.waits.sources
    return sorted((suspect for suspect in unread if len(sources.get(suspect, ())) >= ENOUGH), key=by_rank)


def _has_begun_before(case: Case, first: RankFault) -> bool:
    """Whether a rank had begun to wait long before the fault: for another one, or for what led to the fault."""
    time = time_of(case, first)
    if time is None:
        return False
    clock = case.clock_of(first.suspect, first.event)
    return min(_begins(case, clock), default=inf) < time - MARGIN_OF_ENDS


def _begins(case: Case, clock: str) -> Iterator[float]:
    """When ranks began the waits that they gave up, by a clock."""
    for rank in case.job.ranks:
        event = case.waits.waiting.get(rank.suspect)
        name = _TIMEOUTS.get(type(event.fact)) if event else None
        if event is None or event.time is None or name is None:
            continue
        if (time := case.at(case.job.clock[rank.process], clock, event.time)) is not None:
            yield time - timeout(case, name)


_TIMEOUTS = {OperatorTimedOut: EXEC_TIMEOUT, **dict.fromkeys(LINK_FACTS, CONNECT_TIMEOUT)}
