"""Whether a rank whose log is lost or cut may have failed before the first fault that is known."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from hccl_kit.diagnosis.facts import Heartbeat, OperatorTimedOut
from hccl_kit.diagnosis.verdict.causes.cause import Case, Cause, by_rank, cannot_tell
from hccl_kit.diagnosis.verdict.causes.links import CONNECT_TIMEOUT, EXEC_TIMEOUT, LINK_FACTS, timeout
from hccl_kit.diagnosis.verdict.causes.rank_fault import RankFault
from hccl_kit.diagnosis.verdict.diagnosis import Suspect
from hccl_kit.diagnosis.verdict.names import rank_name, rank_names

MARGIN_OF_ENDS = 30.0
"""Seconds by which a fault must be apart from another moment where only the end of its process is known, which comes
some seconds after its error."""
ENOUGH = 3
"""Number of ranks that wait for the same one, from which on it is not one that only passes the wait on."""


def may_be_earlier(case: Case, first: RankFault) -> Cause | None:
    """The answer if a rank whose log is lost or cut may have failed before; None if nothing suggests that.

    Others wait for it, and none for the rank with the fault; their heartbeats call it lost; some began to wait long
    before the fault; or most logs are lost, and the others do not show that any rank waited for the one with the fault.
    """
    others = _lost(case, first.suspect) or _awaited(case, first.suspect) or _before(case, first)
    if not others and not case.waits.waiting and len(case.unread) * 2 > (case.job.size or inf):
        others = sorted(case.unread, key=by_rank)
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


def _lost(case: Case, first: Suspect) -> list[Suspect]:
    """Those that heartbeats call lost before a process failed: a job that has failed loses its ranks."""
    return sorted(
        {
            suspect
            for rank, event, fact in case.facts(Heartbeat)
            if event.time is not None and event.time < case.failures.get(case.job.clock[rank.process], inf)
            if (suspect := case.job.at_card(fact.culprit)) in case.unread or suspect not in case.job.by_suspect
            if first.server is None or fact.culprit.server != first.server
        },
        key=by_rank,
    )


def _awaited(case: Case, first: Suspect) -> list[Suspect]:
    """Those that several ranks wait for, while none waits for the rank with the fault."""
    if first in case.waits.awaited:
        return []
    sources = case.waits.sources
    return sorted((one for one in case.unread if len(sources.get(one, ())) >= ENOUGH), key=by_rank)


def _before(case: Case, first: RankFault) -> list[Suspect]:
    """All of them if a rank had begun to wait long before the fault: for another one, or for what led to the fault."""
    time = time_of(case, first)
    if time is None:
        return []
    clock = case.clock_of(first.suspect, first.event)
    begun = min(_begins(case, clock), default=inf)
    return sorted(case.unread, key=by_rank) if begun < time - MARGIN_OF_ENDS else []


def _begins(case: Case, clock: str) -> Iterator[float]:
    """When ranks began the waits that they gave up, by a clock."""
    for rank in case.job.ranks:
        event = case.waits.waiting.get(rank.suspect)
        name = _TIMEOUTS.get(type(event.fact)) if event else None
        if event is None or event.time is None or name is None:
            continue
        own = case.job.clock[rank.process]
        if own == clock:
            yield event.time - timeout(case, name)
        elif own in case.clocks.offsets and clock in case.clocks.offsets:
            yield event.time + case.clocks.offsets[own] - case.clocks.offsets[clock] - timeout(case, name)


_TIMEOUTS = {OperatorTimedOut: EXEC_TIMEOUT, **dict.fromkeys(LINK_FACTS, CONNECT_TIMEOUT)}
