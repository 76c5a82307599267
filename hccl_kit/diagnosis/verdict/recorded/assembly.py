"""From what was read to a job as its own records show it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Set
from pathlib import PurePath
from statistics import median

from hccl_kit.diagnosis.errors.pytorch import MISMATCH
from hccl_kit.diagnosis.facts import (
    MAX_RANK,
    Alive,
    Collective,
    Dumped,
    Event,
    Evidence,
    Exited,
    Fact,
    Fault,
    JobEnding,
    Joined,
    LogFile,
    Oversized,
    Place,
    ProgramEnded,
    ServerLost,
    Step,
    Traced,
)
from hccl_kit.diagnosis.verdict.recorded.job import OWN, End, Entry, Job, Lost, Rank

_RECORD = re.compile(r"facts_([0-9]{1,7})\.jsonl")
MAX_OFFSET_PAIRS = 256
"""Collectives from which the difference of two clocks is estimated."""


def job_of(evidence: Evidence) -> Job | None:
    """The job, or None if no rank left a record. Of several runs the last one, and of its starts the last one."""
    own = [event for event in evidence.events if isinstance(event.fact, _OWN) or _is_mismatch(event.fact)]
    older = _older_runs(own)
    of_run = [event for event in own if _folder(event.place.file) not in older]
    attempt = max((_attempt(event.place.file) for event in of_run), default=0)
    events = [event for event in of_run if _attempt(event.place.file) == attempt]
    ranks: dict[int, Rank] = {}
    members: dict[str, frozenset[int]] = {}
    size = 0
    for event in events:
        named = _add(ranks, event)
        size = max(size, named if named <= MAX_RANK else 0)
        if isinstance(event.fact, Traced) and event.fact.members:
            members[event.fact.group] = frozenset(event.fact.members)
    _estimate_offsets(ranks.values())
    for number, place in _cut(evidence.files, attempt, older):
        rank = ranks.setdefault(number, Rank(number))
        rank.place, rank.is_cut = rank.place or place, True  # the line that names the rank may be missing
    recorded = {number: rank for number, rank in ranks.items() if rank.place is not None}
    if all(rank.is_cut and not rank.streams for rank in recorded.values()):  # nothing of any can be read
        return None
    return Job(
        dict(sorted(recorded.items())),
        size or 1 + max(recorded),
        [Lost(event.fact, event.time, event.place) for event in events if isinstance(event.fact, ServerLost)],
        [(event.fact, event.time, event.place) for event in events if isinstance(event.fact, JobEnding)],
        members,
        next((event.place for event in events if isinstance(event.fact, Fault)), None),
        dict(_expected(events)),
        frozenset(event.process for event in own if _folder(event.place.file) in older),
    )


_OWN = (Joined, Step, Collective, Traced, Dumped, Alive, ProgramEnded, Exited, JobEnding, ServerLost, Oversized)


def _is_mismatch(fact: Fact) -> bool:
    return isinstance(fact, Fault) and fact.kind == MISMATCH


def _expected(events: Iterable[Event]) -> Iterator[tuple[int, int]]:
    """Oversized messages with their rank, which is in the name of the log."""
    for event in events:
        log = re.fullmatch(r"rank_([0-9]{1,7})\.log", _name(event))
        if log and isinstance(event.fact, Oversized):
            yield int(log[1]), event.fact.expected


def _cut(files: Iterable[LogFile], attempt: int, older: Set[str]) -> Iterator[tuple[int, Place]]:
    """The ranks of which a part of the record is missing."""
    for file in files:
        found = _RECORD.fullmatch(PurePath(file.file).name)
        if not found or not file.cut or int(found[1]) >= MAX_RANK or _attempt(file.file) != attempt:
            continue
        if _folder(file.file) not in older:
            yield int(found[1]), Place(file.file, 1)


def _older_runs(events: Iterable[Event]) -> set[str]:
    """Folders with the record of a rank that a folder of a later start has too: they are of earlier runs."""
    starts: dict[str, float] = {}
    ranks: dict[str, set[int]] = defaultdict(set)
    for event in events:
        if isinstance(event.fact, Joined) and event.time is not None and _RECORD.fullmatch(_name(event)):
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
    found = re.fullmatch("restart_([0-9]{1,7})", PurePath(file).parent.name)
    return int(found[1]) if found else 0


def _name(event: Event) -> str:
    return PurePath(event.place.file).name


def _add(ranks: dict[int, Rank], event: Event) -> int:
    """Add an event to its rank; returns the size of the job if the event names it."""
    fact = event.fact
    if isinstance(fact, Joined):
        if fact.group is not None or not _name(event).startswith("facts_"):
            return 0  # a communicator of HCCL
        if fact.ranks is None and fact.server is None:
            return 0  # the name of a file
        rank = ranks.setdefault(fact.rank, Rank(fact.rank))
        rank.place, rank.host, rank.device = event.place, fact.server, fact.physical
        return fact.ranks or 0
    if not isinstance(fact, Step | Collective | Traced | Dumped | Alive | ProgramEnded | Exited):
        return 0
    rank = ranks.setdefault(fact.rank, Rank(fact.rank))
    if isinstance(fact, Dumped):
        rank.place = rank.place or event.place
        rank.has_dump, rank.is_cut = rank.has_dump or not fact.is_cut, rank.is_cut or fact.is_cut
        return fact.size or 0
    if isinstance(fact, Step):
        rank.step = max(rank.step or 0, fact.step)
    elif isinstance(fact, Alive):
        rank.alive, rank.doing, rank.since = event.time, fact.doing, fact.since
        rank.step = max(rank.step or 0, fact.step)
    elif isinstance(fact, Collective):
        _add_collective(rank, fact, event)
    elif isinstance(fact, Traced):
        left = event.time or 0.0 if fact.left else None
        entry = Entry(fact.sequence, fact.operator, None, None, event.time, left, event.place, fact.shape)
        entries = rank.streams.setdefault(fact.group, {})
        if fact.left or fact.sequence not in entries:  # two dumps of a rank: it may have left meanwhile
            entries[fact.sequence] = entry
    elif isinstance(fact, ProgramEnded):
        rank.program_end = End(event.time, event.place, fact.how, fact.message)
    elif not fact.by_launcher:
        rank.exit = End(event.time, event.place, "", signal=fact.signal, code=fact.code)
    return 0


def _add_collective(rank: Rank, fact: Collective, event: Event) -> None:
    entries = rank.streams.setdefault(OWN, {})
    before = entries.get(fact.sequence)
    begun, left = (before.begun if before else None, event.time) if fact.left else (event.time, None)
    entries[fact.sequence] = Entry(fact.sequence, fact.operator, fact.size, fact.step, begun, left, event.place)
    rank.step = max(rank.step or 0, fact.step or 0)


def _estimate_offsets(ranks: Iterable[Rank]) -> None:
    """Set the clock offset of each rank: all ranks leave a collective at almost the same moment."""
    known = [rank for rank in sorted(ranks, key=lambda rank: rank.number) if rank.entries]
    by_host: dict[str | int, float] = {}
    for rank in known:
        host = rank.number if rank.host is None else rank.host
        if host not in by_host:
            by_host[host] = _offset(rank, known[0])
        rank.offset = by_host[host]


def _offset(rank: Rank, first: Rank) -> float:
    pairs = [(rank.entries[n].left, first.entries[n].left) for n in sorted(rank.entries.keys() & first.entries.keys())]
    found = [own - other for own, other in pairs[-MAX_OFFSET_PAIRS:] if own is not None and other is not None]
    return median(found) if found else 0.0
