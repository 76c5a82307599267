"""A cause, and the case that it is looked for in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import NamedTuple, TypeVar

from hccl_kit.base.message import Message
from hccl_kit.base.wording import listed
from hccl_kit.diagnosis.facts import Event, Heartbeat
from hccl_kit.diagnosis.verdict.clocks import Clocks
from hccl_kit.diagnosis.verdict.diagnosis import Blame, Certainty, Suspect
from hccl_kit.diagnosis.verdict.job import Job, Rank, stated
from hccl_kit.diagnosis.verdict.names import rank_name, rank_names
from hccl_kit.diagnosis.verdict.waits import WAITING, Waits

Kind = TypeVar("Kind")


class Cause(NamedTuple):
    """An answer. With the certainty "cannot_tell", `reason` says why, and `suspects` are all that it may be.

    Otherwise the first of the suspects is the first fault, and `kind` says what happened to it. `events` are the
    evidence; the first one has the time of the fault.
    """

    certainty: Certainty
    kind: str
    suspects: tuple[Suspect, ...]
    code: str | None = None
    events: tuple[Event, ...] = ()
    reason: str = ""
    fix: str = ""
    supports: tuple[str, ...] = ()
    contradicts: tuple[str, ...] = ()
    rule: str | None = None
    """The id in `first_faults`."""
    blame: Blame | None = None


class ClockTime(NamedTuple):
    """A time by a clock, "" for all clocks whose difference is known. Those of two clocks cannot be compared."""

    clock: str
    time: float | None


@dataclass(frozen=True)
class Case:
    """All that a cause is derived from."""

    job: Job
    waits: Waits
    clocks: Clocks

    @cached_property
    def without_error(self) -> tuple[Rank, ...]:
        """Ranks whose log is whole and has no error; processes whose log names no rank are left out."""
        return tuple(
            rank
            for rank in self.job.ranks
            if rank.number is not None
            and not rank.is_cut
            and rank.suspect not in self.waits.waiting
            and not any(event.is_error and not rank.work.is_after(event) for event in rank.events)
        )

    def facts(self, kind: type[Kind]) -> list[tuple[Rank, Event, Kind]]:
        """All facts of a kind, each with the rank whose log has it."""
        return stated(self.job.ranks, kind)

    @cached_property
    def unread(self) -> frozenset[Suspect]:
        """Ranks without a log, and those with a cut one and no error: they may have failed, or waited."""
        cut = {rank.suspect for rank in self.job.ranks if rank.is_cut and not rank.errors}
        return frozenset((*self.job.silent, *cut)) - self.waits.waiting.keys()

    @cached_property
    def compared(self) -> tuple[Rank, ...]:
        """Ranks whose settings are compared: without those of communicators in which no rank has an error.

        They may be of another job, whose logs were collected too.
        """
        failed = {group for rank in self.job.ranks if rank.errors for group in rank.groups}
        return tuple(rank for rank in self.job.ranks if not rank.groups or not failed.isdisjoint(rank.groups))

    @cached_property
    def failures(self) -> Mapping[str, float]:
        """When the first rank of each worker failed or gave up, by the clock of that worker."""
        first_of: dict[str, float] = {}
        for rank in self.job.ranks:
            times = [event.time for event in rank.events if event.time is not None and _fails(rank, event)]
            if times:
                worker = self.job.clock[rank.process]
                first_of[worker] = min(first_of.get(worker, min(times)), *times)
        return first_of

    @cached_property
    def span(self) -> tuple[float, float]:
        """When the first and the last worker began to fail, of those whose clocks can be compared."""
        times = [
            time
            for worker, local in self.failures.items()
            if (time := self.clocks.corrected(worker, local)) is not None
        ]
        return (min(times), max(times)) if times else (inf, -inf)

    def clock_of(self, suspect: Suspect, event: Event) -> str:
        """The clock of an event: what a rank printed is in another file than its plog, and has the same clock."""
        rank = self.job.by_suspect.get(suspect)
        return self.job.clock[rank.process] if rank else event.process.worker

    def at(self, local: str, clock: str, time: float | None) -> float | None:
        """A time by another clock; None if the difference of the two is not known."""
        offsets = self.clocks.offsets
        if time is None or local == clock:
            return time
        return time + offsets[local] - offsets[clock] if local in offsets and clock in offsets else None

    def clock_time(self, number: int, event: Event) -> ClockTime:
        """When something happened to a rank that left a record."""
        clock = self.job.clock[self.job.by_suspect[self.job.by_number[number]].process]
        time = self.clocks.corrected(clock, event.time)
        return ClockTime(clock, event.time) if time is None else ClockTime("", time)

    @cached_property
    def is_complete(self) -> bool:
        """Every rank of the job left a log, and none of them is cut."""
        return self.job.size is not None and not self.job.silent and not any(rank.is_cut for rank in self.job.ranks)


def _fails(rank: Rank, event: Event) -> bool:
    """Whether the process itself fails or gives up here: a report on others is not a failure of its own."""
    if isinstance(event.fact, WAITING):
        return True
    return event.is_error and not isinstance(event.fact, Heartbeat) and not rank.survived(event)


def by_rank(suspect: Suspect) -> tuple[bool, int, str, int]:
    """A key to sort ranks by number, or by server and card where it is not known."""
    return suspect.rank is None, suspect.rank or 0, suspect.server or "", suspect.device or 0


def most_common(values: Iterable[Hashable]) -> list[Hashable]:
    """The most frequent values: several if they are equally frequent."""
    counts = Counter(values)
    most = max(counts.values(), default=0)
    return [value for value, count in counts.items() if count == most]


def order(time: float | None) -> float:
    """A key to sort by; what has no time comes last."""
    return inf if time is None else time


def verdict(
    id_: str,
    kind: str,
    suspects: Iterable[Suspect],
    events: Iterable[Event] = (),
    /,
    *,
    is_certain: bool = False,
    code: str | None = None,
    fix: str = "",
    hint: str = "",
    why: str = "",
    contradicts: Iterable[str] = (),
    **values: object,
) -> Cause:
    """The answer that names a first fault: messages of the templates, by the ids ID, ID.fix and ID.why.

    They have the same values. A fix that is a message already is given as `hint`.
    """
    return Cause(
        "certain" if is_certain else "likely",
        Message(id_, kind, **values),
        tuple(suspects),
        code,
        tuple(events),
        fix=Message(f"{id_}.fix", fix, **values) if fix else hint,
        supports=(Message(f"{id_}.why", why, **values),) if why else (),
        contradicts=tuple(filter(None, contradicts)),
    )


def cannot_tell(
    id_or_reason: str,
    template: str | None = None,
    suspects: Iterable[Suspect] = (),
    events: Iterable[Event] = (),
    /,
    *,
    fix: str = "",
    hint: str = "",
    **values: object,
) -> Cause:
    """The answer that names no first fault: its reason, and a fix, by the ids ID and ID.fix.

    A message that exists already is given alone, and one for the fix as `hint`.
    """
    reason = id_or_reason if template is None else Message(id_or_reason, template, **values)
    step = Message(f"{id_or_reason}.fix", fix, **values) if fix else hint
    return Cause("cannot_tell", "", tuple(suspects), None, tuple(events), reason, step)


def missing_log(suspect: Suspect) -> Message:
    """That the log of a rank is missing."""
    return Message("diagnosis.missing-log", "the log of {rank} is missing", rank=rank_name(suspect))


def unread_logs(case: Case) -> str:
    """Which logs are missing, or else cut before they tell anything, in words; "" if none are."""
    if not case.unread or case.job.silent:
        return missing_logs(case.job)
    ranks = rank_names(sorted(case.unread, key=by_rank))
    return Message("diagnosis.cut-logs", "the logs of {ranks} are cut", ranks=ranks)


def missing_logs(job: Job) -> str:
    """Which logs are missing, in words; "" if none are."""
    servers = sorted({suspect.server for suspect in job.silent if suspect.server})
    owners = listed(servers[:8]) or rank_names(job.silent)
    return Message("diagnosis.missing-logs", "logs of {owners} are missing", owners=owners) if owners else ""
