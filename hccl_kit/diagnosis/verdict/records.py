"""What the recorders of a rank kept of it: its collectives, its life and its end."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath
from typing import NamedTuple

from hccl_kit.diagnosis import facts
from hccl_kit.diagnosis.errors.pytorch import MISMATCH
from hccl_kit.diagnosis.facts import MAX_RANK, Event, Evidence, Exited, LogFile, Process, ProgramEnded

_RECORD = re.compile(r"facts_([0-9]{1,7})\.jsonl")
_OF_RANK = (facts.Step, facts.Collective, facts.Traced, facts.Dumped, facts.Alive, facts.ProgramEnded, facts.Exited)
_OF_JOB = (facts.JobEnding, facts.ProcessStopped, facts.ServerLost, facts.Oversized)


class Records(NamedTuple):
    """The records by rank, each with the process that has left it.

    `size`: the number of ranks, None if no record names it. `members`: those of process groups. `notes`: what launchers
    and gloo report.
    """

    ranks: Mapping[int, tuple[Process, Record]]
    size: int | None
    members: Mapping[str, frozenset[int]]
    notes: tuple[Event, ...]


def records(evidence: Evidence) -> Records:
    """The records; of no rank if none of them can be read."""
    events = [event for event in evidence.events if _is_of_recorder(event)]
    by_rank: dict[int, list[Event]] = defaultdict(list)
    for event in events:
        if isinstance(event.fact, (facts.Joined, *_OF_RANK)) and event.fact.rank < MAX_RANK:
            by_rank[event.fact.rank].append(event)
    cut = dict(_cut(evidence.files))
    processes = {rank: event.process for rank, events in by_rank.items() for event in events if _is_record(event)}
    ranks = {rank: (process, _record(by_rank[rank], is_cut=rank in cut)) for rank, process in (processes | cut).items()}
    if all(record.is_cut and not record.streams for _, record in ranks.values()):
        ranks = {}
    return Records(
        ranks,
        max((size for event in events if (size := _size(event)) and size <= MAX_RANK), default=None),
        {
            event.fact.group: frozenset(event.fact.members)
            for event in events
            if isinstance(event.fact, facts.Traced) and event.fact.members
        },
        tuple(event for event in events if isinstance(event.fact, (*_OF_JOB, facts.Fault))),
    )


def _is_of_recorder(event: Event) -> bool:
    if isinstance(event.fact, facts.Fault):
        return event.fact.kind == MISMATCH
    return isinstance(event.fact, (*_OF_RANK, *_OF_JOB)) or _is_start(event)


def _is_start(event: Event) -> bool:
    """Whether the event is the first line of our record, and not the name of its file or a communicator of HCCL."""
    fact = event.fact
    is_start = (
        isinstance(fact, facts.Joined) and fact.group is None and (fact.ranks is not None or fact.server is not None)
    )
    return is_start and _RECORD.fullmatch(PurePath(event.place.file).name) is not None


def _is_record(event: Event) -> bool:
    """Whether the rank has a record at all: a sign of life or an end may be all that a launcher has of it."""
    return isinstance(event.fact, facts.Joined | facts.Dumped)


def _size(event: Event) -> int | None:
    if isinstance(event.fact, facts.Joined):
        return event.fact.ranks
    return event.fact.size if isinstance(event.fact, facts.Dumped) else None


def _cut(files: Iterable[LogFile]) -> Iterator[tuple[int, Process]]:
    """The ranks of whose record a part is missing, such as the line that names the rank."""
    for file in files:
        name = _RECORD.fullmatch(PurePath(file.file).name)
        if name and file.cut and int(name[1]) < MAX_RANK:
            yield int(name[1]), file.process


def _record(events: list[Event], *, is_cut: bool) -> Record:
    streams: dict[str, dict[int, Entry]] = {}
    for event in events:
        if isinstance(event.fact, facts.Collective):
            _add_collective(streams.setdefault(OWN, {}), event, event.fact)
        elif isinstance(event.fact, facts.Traced):
            _add_traced(streams.setdefault(event.fact.group, {}), event, event.fact)
    dumps = [event.fact for event in events if isinstance(event.fact, facts.Dumped)]
    steps = (
        event.fact.step or 0 for event in events if isinstance(event.fact, facts.Step | facts.Alive | facts.Collective)
    )
    ends = [end for event in reversed(events) if (end := ended_by_itself(event))]
    return Record(
        streams,
        next((event for event in reversed(events) if isinstance(event.fact, facts.Alive)), None),
        max(steps, default=None),
        any(not dump.is_cut for dump in dumps),
        is_cut or any(dump.is_cut for dump in dumps),
        max(ends, key=lambda end: bool(end.how), default=None),  # the program's own words tell more than its exit code
    )


def _add_collective(entries: dict[int, Entry], event: Event, fact: facts.Collective) -> None:
    before = entries.get(fact.sequence)
    entered = event._replace(time=None) if fact.left else event
    if fact.left and before is not None:
        entered = before.event
    left = event.time if fact.left else None
    entries[fact.sequence] = Entry(entered, fact.sequence, fact.operator, fact.size, fact.step, left)


def _add_traced(entries: dict[int, Entry], event: Event, fact: facts.Traced) -> None:
    """Of two dumps of a rank: it may have left meanwhile."""
    if fact.left or fact.sequence not in entries:
        left = event.time or 0.0 if fact.left else None
        entries[fact.sequence] = Entry(event, fact.sequence, fact.operator, None, None, left, fact.shape)


OWN = ""
"""The stream of collectives that our own recorder counts; the others are process groups of torch."""


class Entry(NamedTuple):
    """A collective of a rank; `left` is None while the rank is inside. Times by the clock of its host.

    `event` has the time at which the rank entered, None if only its end is known. Our recorder knows the size in bytes,
    torch's the types and sizes of what the rank gave (`shape`).
    """

    event: Event
    sequence: int
    operator: str
    size: int | None
    step: int | None
    left: float | None
    shape: str | None = None

    @property
    def begun(self) -> float:
        """When the rank entered, as a key to sort by."""
        return self.event.time or 0.0

    @property
    def what(self) -> tuple[str, int | None, str | None]:
        """What all ranks must enter together."""
        return self.operator, self.size, self.shape


class End(NamedTuple):
    """How a rank ended by itself: an exception or "done" (`how`), a signal, or an exit code."""

    event: Event
    how: str = ""
    message: str = ""
    signal: int | None = None
    code: int | None = None

    @property
    def is_failure(self) -> bool:
        """Whether it did not succeed."""
        return self.how != "done" and (bool(self.how) or self.code != 0)


@dataclass(frozen=True)
class Record:
    """The record of a rank.

    `is_cut`: a part of it is missing, so that the rank may have entered more collectives, have failed, or have ended.
    `has_dump`: torch's flight recorder has left a whole dump.
    """

    streams: Mapping[str, Mapping[int, Entry]]
    alive: Event | None
    step: int | None
    has_dump: bool
    is_cut: bool
    end: End | None

    @property
    def entries(self) -> Mapping[int, Entry]:
        """The collectives that our own recorder has, by number."""
        return self.streams.get(OWN, {})

    @property
    def is_done(self) -> bool:
        """Whether it ended in order."""
        return self.end is not None and self.end.how == "done"

    @cached_property
    def last(self) -> Entry | None:
        """The last collective that it entered, by our own recorder if there is one."""
        if self.entries:
            return self.entries[max(self.entries)]
        entered = [entries[max(entries)] for entries in self.streams.values() if entries]
        return max(entered, key=lambda entry: entry.begun, default=None)

    @cached_property
    def inside(self) -> Entry | None:
        """The first collective that it has not left."""
        return min(self.blocked.values(), key=lambda entry: entry.begun, default=None)

    @cached_property
    def blocked(self) -> Mapping[str, Entry]:
        """Of each stream the collective that it has not left; of torch's, the first of those in flight."""
        blocked = {}
        for stream, entries in self.streams.items():
            last = [entries[max(entries)]] if entries else []
            unfinished = [entry for entry in (last if stream == OWN else entries.values()) if entry.left is None]
            if unfinished:
                blocked[stream] = min(unfinished, key=lambda entry: entry.sequence)
        return blocked

    @property
    def suffering(self) -> Event | None:
        """Where it shows that the rank waits, or has failed; None if neither."""
        if self.inside is not None:
            return self.inside.event
        return None if self.end is None or self.is_done else self.end.event


def ended_by_itself(event: Event) -> End | None:
    """The end of a rank that an event states, None if it states none, or one by the launcher."""
    if isinstance(event.fact, ProgramEnded):
        return End(event, event.fact.how, event.fact.message)
    if isinstance(event.fact, Exited) and not event.fact.by_launcher:
        return End(event, signal=event.fact.signal, code=event.fact.code)
    return None
