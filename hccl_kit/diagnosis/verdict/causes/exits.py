"""How launchers saw ranks end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from signal import SIGBUS, SIGFPE, SIGILL, SIGKILL, SIGSEGV, SIGTERM

from hccl_kit.diagnosis.facts import Event, Exited
from hccl_kit.diagnosis.verdict.causes.cause import Case
from hccl_kit.diagnosis.verdict.causes.rank_fault import RankFault, is_consequence
from hccl_kit.diagnosis.verdict.diagnosis import Suspect
from hccl_kit.diagnosis.verdict.endings import ended

_OF_KERNEL = (SIGKILL, SIGSEGV, SIGBUS, SIGILL, SIGFPE)


def exits(case: Case) -> Iterator[RankFault]:
    """The first rank that each launcher saw end by itself, unless that may be because it gave up waiting.

    How a rank with a record ended is judged with its record.
    """
    by_file: dict[str, list[Event]] = defaultdict(list)
    for event, end in case.job.exits:
        if not end.by_launcher and (end.code or end.signal) and end.signal != SIGTERM:
            by_file[event.place.file].append(event)
    for events in by_file.values():
        first = _first_exit(events)
        if first is not None and isinstance(fact := first.fact, Exited):
            suspect = case.job.by_number.get(fact.rank, Suspect(fact.rank, fact.server, fact.physical))
            fault = RankFault(suspect, first, ended(fact.signal, fact.code), None)
            if fact.rank not in case.job.records and not _may_have_given_up(case, fault):
                yield fault


def _first_exit(events: list[Event]) -> Event | None:
    """The exit that the launcher names as the first, or the earliest one; None if several have one time.

    What has no time is in the order in which it happened.
    """
    named = [event for event in events if isinstance(event.fact, Exited) and event.fact.is_first]
    times = sorted(event.time for event in events if event.time is not None)
    if named or len(times) < len(events):
        return (named or events)[0]
    return min(events, key=lambda event: event.time or 0.0) if len(times) < 2 or times[0] < times[1] else None


def _may_have_given_up(case: Case, fault: RankFault) -> bool:
    """Whether a process may have ended because others did not come.

    One that ended before any process of its server gave up has not, nor one that a signal of the kernel ended. Else the
    log must show it: a program that gives up waiting ends with an exception too.
    """
    fact, rank = fault.event.fact, case.job.by_suspect.get(fault.suspect)
    assert isinstance(fact, Exited)
    if rank is not None and (rank.errors or any(map(is_consequence, rank.events))):
        return True
    gave_up = case.failures.get(case.job.clock.get(rank.process, "") if rank else fault.event.process.worker)
    if gave_up is not None and fault.event.time is not None:
        return int(fault.event.time) >= int(gave_up)  # launchers print whole seconds
    return fact.signal not in _OF_KERNEL and (rank.is_cut if rank else bool(case.job.ranks))
