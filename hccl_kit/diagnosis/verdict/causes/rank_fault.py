"""The first fault of one rank that is its own, and how launchers saw ranks end: what happened, and the fix."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from signal import SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGKILL, SIGSEGV, SIGTERM
from typing import NamedTuple

from hccl_kit.base.message import Message
from hccl_kit.base.process_end import killed_by
from hccl_kit.base.wording import sentences
from hccl_kit.diagnosis.errors.row import row_text, with_reason
from hccl_kit.diagnosis.facts import Event, Exited, Fault, ListenFailed, PeerClosed
from hccl_kit.diagnosis.verdict.causes.cause import Case
from hccl_kit.diagnosis.verdict.diagnosis import Suspect
from hccl_kit.diagnosis.verdict.endings import ended, fix_of_kill
from hccl_kit.diagnosis.verdict.job import Job, Rank
from hccl_kit.diagnosis.verdict.names import rank_name
from hccl_kit.diagnosis.verdict.waits import WAITING
from hccl_kit.diagnosis.verdict.work import is_earlier

MAX_TEXT = 200
"""Characters of an exception that are shown."""
_OF_SEVERAL_RANKS = ("EI0002", "EI0005", "EI0006", "EI0008", "EI0009", "EI0013", "EI0015")
"""Codes of errors between two ranks or more: the lines above them name the ranks, and have causes of their own."""
_GENERIC = ("EE1001", "EL0003")
"""Codes whose text alone says what is wrong."""
_CRASHES = (SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV)
"""Signals for which Python's faulthandler prints the stacks."""
_REASON = re.compile(r"Reason: ?([^\n]+)")


class RankFault(NamedTuple):
    """The first own fault of a rank. `is_ordered`: the lines of its log are in the order of their times."""

    suspect: Suspect
    event: Event
    kind: str
    code: str | None
    is_ordered: bool = True


def fault_of(rank: Rank) -> RankFault | None:
    """The earliest own fault of a rank, unless it went on after it, or had given up waiting before."""
    faults = [event for event in rank.events if is_failure(event) and not rank.survived(event)]
    if not faults:
        return None
    first = min(faults, key=lambda event: (has_no_row(event), event.time is None, event.time or 0.0))
    ordered = True
    for event in filter(is_consequence, rank.events):
        in_file = event.place.line < first.place.line if event.place.file == first.place.file else None
        in_time = is_earlier(event, first)
        if in_time or (in_time is None and in_file):
            return None
        if in_file and not in_time:
            ordered = False
    return RankFault(rank.suspect, first, *_words(first), ordered)


def is_consequence(event: Event) -> bool:
    """Whether the process timed out waiting for others, or suffers from what they did."""
    fact = event.fact
    return isinstance(fact, (*WAITING, PeerClosed)) or (isinstance(fact, Fault) and fact.is_symptom and event.is_error)


def is_failure(event: Event) -> bool:
    if isinstance(event.fact, Fault):
        return not event.fact.is_symptom and event.fact.code not in _OF_SEVERAL_RANKS
    return isinstance(event.fact, ListenFailed)


def has_no_row(event: Event) -> bool:
    return isinstance(event.fact, Fault) and event.fact.is_unknown


def _words(event: Event) -> tuple[str, str | None]:
    """What happened, in a phrase, and its code."""
    fact = event.fact
    if isinstance(fact, ListenFailed):
        taken = Message("diagnosis.port-taken", "could not listen on {port}, it is taken", port=_port(fact))
        return taken, "EI0020" if fact.side == "card" else "EI0019"
    assert isinstance(fact, Fault)
    is_unknown = fact.text.startswith(f"{fact.kind}: ")  # an exception of which no row knows more
    kind = row_text(fact.text[:MAX_TEXT] if is_unknown else fact.kind)
    if fact.raised_at:
        kind = Message("diagnosis.raised-at", "{what} (at {place})", what=kind, place=fact.raised_at)
    if fact.code in _GENERIC and (reason := _REASON.search(fact.text)):
        kind = with_reason(kind, reason[1][:MAX_TEXT])
    return kind, fact.code


def _port(fact: ListenFailed) -> Message:
    if fact.port is None:
        return Message("diagnosis.a-port", "a port")
    return Message("diagnosis.port", "port {port}", port=fact.port)


def fix_of_fault(fault: RankFault) -> str:
    """The next step for the own fault of a rank."""
    fact, host = fault.event.fact, fault.suspect.server or Message("diagnosis.its-host", "its host")
    if isinstance(fact, ListenFailed):
        return Message(
            "diagnosis.port-taken.fix",
            "end the other job that uses {port} on {host}, or set {variable} on all ranks",
            port=_port(fact),
            host=host,
            variable="HCCL_NPU_SOCKET_PORT_RANGE=auto"
            if fact.side == "card"
            else Message("diagnosis.another-value", "another {variable}", variable="HCCL_IF_BASE_PORT"),
        )
    if isinstance(fact, Exited):
        if fact.signal == SIGKILL:
            return fix_of_kill(host)
        read = Message("diagnosis.ended.fix", "read the last lines of the log of {rank}", rank=rank_name(fault.suspect))
        stacks = Message("diagnosis.crashed.fix", "if they say nothing: PYTHONFAULTHANDLER=1 prints where it crashed")
        is_lost = fact.signal is None and fact.code is None
        return sentences([read, stacks if fact.signal in _CRASHES else "", fix_of_kill(host) if is_lost else ""])
    assert isinstance(fact, Fault)
    if fact.code == "EJ0001":
        return Message(
            "diagnosis.card-in-use.fix",
            "end the processes of earlier jobs on {host}, wait 30 s, start again; if there are none, two ranks of this"
            " job use one card: check LOCAL_RANK and ASCEND_RT_VISIBLE_DEVICES",
            host=host,
        )
    explain = Message("diagnosis.explain-code", "see `hccl-kit explain {code}`", code=fact.code)
    is_kill = fact.module == "LAUNCHER" and killed_by(SIGKILL) in fact.kind
    has_page = fact.code and not fact.code.endswith("9999")  # those are of any internal error
    return sentences([fix_of_kill(host) if is_kill else "", fix_of_event(fault.event), explain if has_page else ""])


def fix_of_event(event: Event) -> str:
    """The fix of the known error that a fault is, else where to read."""
    return known_fix(event) or Message(
        "diagnosis.read-from", "read {file} from line {line} on", file=event.place.file, line=event.place.line
    )


def known_fix(event: Event) -> str:
    assert isinstance(event.fact, Fault)
    return row_text(event.fact.fix) if event.fact.role == "cause" and event.fact.fix else ""


def failed_ends(job: Job) -> list[tuple[Event, Exited]]:
    """The ends that launchers saw of ranks that failed by themselves."""
    return [
        (event, end)
        for event, end in job.exits
        if not end.by_launcher and (end.code != 0 or end.signal) and end.signal != SIGTERM
    ]


_OF_KERNEL = (SIGKILL, SIGSEGV, SIGBUS, SIGILL, SIGFPE)


def exits(case: Case) -> Iterator[RankFault]:
    """The first rank that each launcher saw end by itself, unless that may be because it gave up waiting.

    How a rank with a record ended is judged with its record.
    """
    by_file: dict[str, list[Event]] = defaultdict(list)
    for event, _ in failed_ends(case.job):
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

    What has no time is in the order in which it happened. torchrun names the earliest by the times that it prints.
    These are whole seconds: of several in one second any may be the first (torch 2.13, ProcessFailure.timestamp).
    """
    named = [event for event in events if isinstance(event.fact, Exited) and event.fact.is_first]
    times = sorted(event.time for event in events if event.time is not None)
    if len(times) < len(events):
        return (named or events)[0]
    first = named[0] if named else min(events, key=lambda event: event.time or 0.0)
    return first if times.count(first.time or 0.0) < 2 else None


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
    if fact.signal in _OF_KERNEL:
        return False
    return rank.is_cut if rank else bool(case.job.ranks) and not _has_silent_end(case, fault)


def _has_silent_end(case: Case, fault: RankFault) -> bool:
    """Whether the file with its end has errors of other ranks, and so would have its own, and no rank waits."""
    files = {event.place.file for rank in case.job.ranks if rank.number is not None for event in rank.errors}
    return fault.event.place.file in files and not case.waits.waiting
