"""A rank with a fault of its own: an exception, an error of another module, a port that is taken, a signal.

Such a fault goes before all timeouts. A fault after the first wait of the same process is a consequence: a process
that gives up waiting ends with an exception.
"""

from __future__ import annotations

import re
from math import inf
from pathlib import PurePath
from signal import SIGABRT

from hccl_kit.base.message import Message
from hccl_kit.base.process_end import killed_by
from hccl_kit.base.wording import listed, sentences
from hccl_kit.diagnosis.errors.row import row_text
from hccl_kit.diagnosis.facts import Exited, Fault
from hccl_kit.diagnosis.verdict.causes.cause import Case, Cause, cannot_tell, missing_logs, verdict
from hccl_kit.diagnosis.verdict.causes.earlier import ENOUGH, MARGIN_OF_ENDS, may_be_earlier, time_of
from hccl_kit.diagnosis.verdict.causes.rank_fault import (
    MAX_TEXT,
    RankFault,
    exits,
    failed_ends,
    fault_of,
    fix_of_event,
    fix_of_fault,
    has_no_row,
    is_failure,
    known_fix,
)
from hccl_kit.diagnosis.verdict.diagnosis import Suspect
from hccl_kit.diagnosis.verdict.endings import of_fact
from hccl_kit.diagnosis.verdict.job import NEAR
from hccl_kit.diagnosis.verdict.names import place_name, rank_name, rank_names

MARGIN = 5.0
"""Seconds by which a fault on another server must be earlier; estimated clocks are not exact."""
MAX_PLACES = 4
"""Errors that a fix names."""
MANY = 64
"""Maximum number of faults among which the waits of other ranks decide."""
COPY_FAILED = "EI0012"
"""Of a copy between cards, which also fails if the process at its other end has ended."""
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_OF_TABLE = ("EI0004", "EI0014", "EI0017")


def own_fault(case: Case) -> Cause | None:
    """The only rank with a fault of its own that a row knows, or the first one of several."""
    faults = [fault for rank in case.job.ranks if (fault := fault_of(rank)) and not has_no_row(fault.event)]
    faults = [fault for fault in faults if not _may_follow(case, fault)]
    if len(case.job.everyone) > 1:
        faults = [fault for fault in faults if fault.code != COPY_FAILED]
    return _decided(case, faults) if faults else _of_scheduler(case)


def _may_follow(case: Case, fault: RankFault) -> bool:
    """Whether a fault may be what a rank that waited for another one ends with, or what a program went on after."""
    fact = fault.event.fact
    if not isinstance(fact, Fault) or fault.suspect.rank is not None:
        return False
    if fact.module == "LAUNCHER":  # its watchdog ends a process that waits with SIGABRT
        return bool(case.waits.waiting) and killed_by(SIGABRT) in fact.kind
    ends = [end for _, end in failed_ends(case.job)]
    return fact.module == "PYTHON" and bool(ends) and all(end.signal for end in ends)  # an exception gives a code


def ended_early(case: Case) -> Cause | None:
    """The rank that a launcher saw end first, or that ended with an error that no row knows."""
    unknown = {fault.suspect: fault for rank in case.job.ranks if (fault := fault_of(rank)) and has_no_row(fault.event)}
    seen = [unknown.get(fault.suspect, fault) for fault in exits(case)]
    ended = case.job.ended_by_launcher
    faults = seen or [fault for fault in unknown.values() if fault.suspect.rank not in ended]
    return _decided(case, faults) if faults else None


def _decided(case: Case, faults: list[RankFault]) -> Cause:
    """The first of several faults, if it is known which one that is."""
    disordered = [fault for fault in faults if not fault.is_ordered]
    faults = [fault for fault in faults if fault.is_ordered]
    if not faults:
        return _disordered(disordered)
    first = faults[0] if len(faults) == 1 else _first(case, faults)
    if first is None:
        return _undecided(case, faults)
    rivals = [fault for fault in disordered if not _is_after(case, fault, first)]
    if doubt := _disordered(rivals, first) if rivals else _unknown(case, first):
        return doubt
    if earlier := may_be_earlier(case, first):
        return earlier
    missing = missing_logs(case.job)
    contradicts = (*_contradictions(case, first), *((missing,) if missing else ()))
    is_shown = not isinstance(first.event.fact, Exited) or first.event.fact.signal is not None  # a code has no cause
    certain = len(faults) == 1 and case.is_complete and is_shown and not contradicts and not disordered
    return Cause(
        "certain" if certain else "likely",
        first.kind,
        (first.suspect,),
        first.code,
        tuple(fault.event for fault in [first, *(other for other in faults if other is not first)]),
        fix=fix_of_fault(first),
        supports=(Message("diagnosis.direct", "the first fault is a direct cause"),),
        contradicts=contradicts,
        blame=of_fact(first.event.fact),
    )


def _disordered(faults: list[RankFault], first: RankFault | None = None) -> Cause:
    """Ranks of which it is not known whether they failed before or after they waited; `first` failed by itself."""
    suspects = [fault.suspect for fault in faults]
    reason = Message(
        "diagnosis.disordered", "the log of {ranks} is not in the order of its times", ranks=rank_names(suspects)
    )
    if first is None:
        return cannot_tell(reason, None, suspects, [fault.event for fault in faults])
    return cannot_tell(
        "diagnosis.disordered-rivals",
        "{rank} failed by itself, but {reason}",
        [first.suspect, *suspects],
        [fault.event for fault in (first, *faults)],
        rank=rank_names([first.suspect]),
        reason=reason,
    )


def _undecided(case: Case, faults: list[RankFault]) -> Cause:
    """Several ranks have faults of their own, and none is known to be the first."""
    is_of_program = _is_of_program(case, faults)
    if is_of_program and _others_were_ended(case, faults):
        return _program(faults, is_on_all=len(faults) == len(case.job.ranks))
    suspects = [fault.suspect for fault in faults]
    failures = Message("diagnosis.failed-alone", "{ranks} failed by themselves", ranks=rank_names(suspects))
    if is_of_program:
        failures = Message(
            "diagnosis.same-error", "{failures} with the same error, {error}", failures=failures, error=faults[0].kind
        )
    cause = cannot_tell(
        "diagnosis.undecided",
        "{failures}; the logs do not show which was first",
        suspects,
        [fault.event for fault in faults],
        fix="read the error of each of them, and fix what does not follow from another: {places}",
        failures=failures,
        places=listed([place_name(fault.event.place) for fault in faults], MAX_PLACES),
    )
    return cause._replace(blame=of_fact(faults[0].event.fact) if is_of_program else None)


def _is_of_program(case: Case, faults: list[RankFault]) -> bool:
    """Whether all ranks that failed have the same error: the program fails wherever it runs.

    If all ranks of the job failed, its numbers may differ: cards, sizes, samples.
    """
    texts = [fault.event.fact.text if isinstance(fault.event.fact, Fault) else None for fault in faults]
    if len(faults) == len(case.job.ranks) and not case.job.silent:
        texts = [text and _NUMBER.sub("", text) for text in texts]
    return len(faults) > 1 and len(set(texts)) == 1 and None not in texts


def _others_were_ended(case: Case, faults: list[RankFault]) -> bool:
    """Whether ranks without the error, if any, have no other one: the launcher ended them beside ranks that have it."""
    failed, ended = {fault.suspect for fault in faults}, case.job.ended_by_launcher
    servers = {suspect.server for suspect in failed}
    others = (rank for rank in case.job.ranks if rank.suspect not in failed)
    return all(rank.number in ended and rank.suspect.server in servers and not rank.errors for rank in others)


def _program(faults: list[RankFault], *, is_on_all: bool) -> Cause:
    fact = faults[0].event.fact
    assert isinstance(fact, Fault)
    known = known_fix(faults[0].event) or Message(
        "diagnosis.fix-error", "fix the error that {place} reports", place=place_name(faults[0].event.place)
    )
    of_table = fact.code in _OF_TABLE
    check = Message("diagnosis.check-table", "check the table: hccl-check TABLE")
    everywhere = Message("diagnosis.on-every-rank", "every rank has this error")
    before = Message("diagnosis.ended-before", "the other ranks were ended before they came to it")
    fix = sentences([check if of_table else "", known, everywhere if is_on_all else before])
    others = rank_names(fault.suspect for fault in faults[1:])
    same = Message("diagnosis.same-error-on-all", "the same error")
    same = same if is_on_all else Message("diagnosis.same-error-as", "the same error as {others}", others=others)
    suspects, events = [fault.suspect for fault in faults], [fault.event for fault in faults]
    if fact.role == "cause" and not of_table:  # a row says what is wrong, which may be no matter of the program
        cause = verdict(
            "diagnosis.all-failed-alike",
            "failed with {same}: {error}",
            suspects,
            events,
            code=fact.code,
            hint=fix,
            same=same,
            error=row_text(fact.kind),
        )
    else:
        cause = verdict(
            "diagnosis.all-failed",
            "failed with {same}, so {culprit} is the cause: {error}",
            suspects,
            events,
            code=fact.code,
            hint=fix,
            same=same,
            culprit=Message("diagnosis.the-table", "the rank table")
            if of_table
            else Message("diagnosis.the-program", "the program"),
            error=fact.text[:MAX_TEXT],
        )
    why = Message("diagnosis.all-failed.why", "{number} ranks have this error, and no other one", number=len(faults))
    return cause._replace(supports=(why,), blame=of_fact(fact))


def _unknown(case: Case, fault: RankFault) -> Cause | None:
    """An error whose text no row knows is the cause only if others timed out: those waiting for it, if logs lack.

    Or if a launcher saw that the process ended by itself soon after it.
    """
    fact = fault.event.fact
    if not isinstance(fact, Fault) or not fact.is_unknown:
        return None
    if 0 <= case.job.seen_ends.get(fault.suspect, inf) - (fault.event.time or 0.0) <= NEAR:
        return None
    if case.waits.waiting and (not case.job.silent or fault.suspect in case.waits.awaited):
        return None
    return cannot_tell(
        "diagnosis.unknown-error",
        "{rank} has an error of {module} that is not known: {text}",
        [fault.suspect],
        [fault.event],
        hint=fix_of_event(fault.event),
        rank=rank_names([fault.suspect]),
        module=fact.module,
        text=fact.text[:MAX_TEXT],
    )


def _of_scheduler(case: Case) -> Cause | None:
    """The error of the scheduler of msrun, which runs the same program and is not a rank."""
    for event in case.job.launcher:
        if isinstance(event.fact, Fault) and PurePath(event.place.file).name == "scheduler.log" and is_failure(event):
            return cannot_tell(
                "diagnosis.scheduler",
                "not a rank but the scheduler of msrun failed: {text}",
                (),
                [event],
                fix="fix the error that {place} reports; the scheduler runs the program too, without the variables of a"
                " rank",
                text=event.fact.text[:MAX_TEXT],
                place=place_name(event.place),
            )
    return None


def _first(case: Case, faults: list[RankFault]) -> RankFault | None:
    """The earliest fault where clocks can be compared, else the one that all others wait for."""
    workers = {case.clock_of(fault.suspect, fault.event) for fault in faults}
    timed = [(time, fault) for fault in faults if (time := time_of(case, fault)) is not None]
    margin = 0.0
    if len(workers) > 1:
        clocks = (
            (case.clocks.corrected(case.clock_of(fault.suspect, fault.event), time), fault) for time, fault in timed
        )
        timed, margin = [(time, fault) for time, fault in clocks if time is not None], MARGIN
    if any(fault.event.time is None for _, fault in timed):
        margin = MARGIN_OF_ENDS
    timed.sort(key=lambda pair: pair[0])
    if len(timed) == len(faults) and timed[1][0] - timed[0][0] > margin:
        return timed[0][1]
    if len(faults) > MANY:
        return None
    everyone = {fault.suspect for fault in faults}
    nameless = {suspect for suspect in everyone if suspect.rank is None and suspect.device is None}
    awaited = [
        fault for fault in faults if everyone - nameless - case.waits.leading_to(fault.suspect) <= {fault.suspect}
    ]
    awaited = [fault for fault in awaited if not nameless or _is_awaited_by_all(case, fault.suspect)]
    return awaited[0] if len(awaited) == 1 else None


def _is_awaited_by_all(case: Case, suspect: Suspect) -> bool:
    """Whether all waits lead to a rank, so that it does not matter which rank a process without a number is."""
    return case.waits.ends == {suspect} and case.waits.all_lead_to(suspect) and len(case.waits.waiting) >= ENOUGH


def _is_after(case: Case, fault: RankFault, first: RankFault) -> bool:
    """Whether a fault came after the first one for sure, so that it does not matter what its rank had done before."""
    local, clock = case.clock_of(fault.suspect, fault.event), case.clock_of(first.suspect, first.event)
    time = case.at(local, clock, fault.event.time)
    margin = 0.0 if local == clock else MARGIN
    return time is not None and first.event.time is not None and time - first.event.time > margin


def _contradictions(case: Case, first: RankFault) -> tuple[str, ...]:
    others = case.waits.ends - case.waits.leading_to(first.suspect) - {first.suspect}
    if others and first.suspect not in case.waits.awaited:
        return (
            Message(
                "diagnosis.waits-elsewhere",
                "other ranks wait for {others}, not for {rank}",
                others=rank_names(sorted(others, key=str)),
                rank=rank_name(first.suspect),
            ),
        )
    return ()
