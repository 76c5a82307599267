"""The records of the last start of the last run, by rank, out of all that was read."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from pathlib import PurePath
from typing import NamedTuple

from hccl_kit.diagnosis import facts
from hccl_kit.diagnosis.errors.pytorch import MISMATCH
from hccl_kit.diagnosis.facts import MAX_RANK, Event, Evidence, LogFile, Process
from hccl_kit.diagnosis.verdict.record import OWN, Entry, Record, ended_by_itself

_RECORD = re.compile(r"facts_([0-9]{1,7})\.jsonl")
_RESTART = re.compile(r"restart_([0-9]{1,7})")
_OF_RANK = (facts.Step, facts.Collective, facts.Traced, facts.Dumped, facts.Alive, facts.ProgramEnded, facts.Exited)
_OF_JOB = (facts.JobEnding, facts.ProcessStopped, facts.ServerLost, facts.Oversized)


class Records(NamedTuple):
    """The records by rank, each with the process that has left it.

    `size`: the number of ranks, None if no record names it. `members`: those of process groups. `notes`: what launchers
    and gloo report. `left_out`: processes of earlier runs.
    """

    ranks: Mapping[int, tuple[Process, Record]]
    size: int | None
    members: Mapping[str, frozenset[int]]
    notes: tuple[Event, ...]
    left_out: frozenset[Process]


def records(evidence: Evidence) -> Records:
    """The records; of no rank if none of them can be read."""
    events = [event for event in evidence.events if _is_of_recorder(event)]
    older = _older_runs(events)
    left_out = frozenset(event.process for event in events if _folder(event.place.file) in older)
    events = [event for event in events if _folder(event.place.file) not in older]
    attempt = max((_attempt(event.place.file) for event in events), default=0)
    events = [event for event in events if _attempt(event.place.file) == attempt]
    files = [file for file in evidence.files if _attempt(file.file) == attempt and _folder(file.file) not in older]
    by_rank: dict[int, list[Event]] = defaultdict(list)
    for event in events:
        if isinstance(event.fact, (facts.Joined, *_OF_RANK)) and event.fact.rank < MAX_RANK:
            by_rank[event.fact.rank].append(event)
    cut = dict(_cut(files))
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
        left_out,
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


def _older_runs(events: Iterable[Event]) -> Set[str]:
    """Folders with the record of a rank that a folder of a later start has too: they are of earlier runs."""
    starts: dict[str, float] = {}
    ranks: dict[str, set[int]] = defaultdict(set)
    for event in events:
        if isinstance(event.fact, facts.Joined) and event.time is not None:
            folder = _folder(event.place.file)
            starts[folder] = max(event.time, starts.get(folder, 0.0))
            ranks[folder].add(event.fact.rank)
    taken: set[int] = set()
    older: set[str] = set()
    for folder in sorted(starts, key=lambda folder: -starts[folder]):
        if taken.isdisjoint(ranks[folder]):
            taken |= ranks[folder]
        else:
            older.add(folder)
    return older


def _folder(file: str) -> str:
    """The folder of the run, of all its starts."""
    folder = PurePath(file).parent
    return str(folder.parent if _attempt(file) else folder)


def _attempt(file: str) -> int:
    restart = _RESTART.fullmatch(PurePath(file).parent.name)
    return int(restart[1]) if restart else 0


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
