"""A job as its own records show it: every rank with its last collectives, its last sign of life and its end."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from statistics import median
from typing import NamedTuple

from hccl_kit.diagnosis.logs.facts import (
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
    Oversized,
    Place,
    ProgramEnded,
    ServerLost,
    Step,
    Traced,
)
from hccl_kit.diagnosis.logs.patterns.faults import MISMATCH

OWN = ""
"""The stream of collectives that our own recorder counts; the others are process groups of torch."""
DEFAULT_GROUP = "(default_pg)"
"""How the name of torch's default group ends, which has all ranks."""
MAX_OFFSET_PAIRS = 256
"""Collectives from which the difference of two clocks is estimated."""


class Entry(NamedTuple):
    """A collective of a rank; `left` is None while the rank is inside. Times by the clock of its host.

    Our recorder knows the size in bytes, torch's the types and sizes of what the rank gave (`shape`).
    """

    sequence: int
    operator: str
    size: int | None
    step: int | None
    begun: float | None
    left: float | None
    place: Place
    shape: str | None = None

    @property
    def what(self) -> tuple[str, int | None, str | None]:
        """What all ranks must enter together."""
        return self.operator, self.size, self.shape


class End(NamedTuple):
    """How a rank ended by itself: an exception, a signal, an exit code, or "done"."""

    time: float | None
    place: Place
    how: str
    message: str = ""
    signal: int | None = None
    code: int | None = None


@dataclass
class Rank:
    """What is known of a rank; `offset` is what its host's clock is ahead of that of the first rank."""

    number: int
    place: Place | None = None
    host: str | None = None
    device: int | None = None
    offset: float = 0.0
    alive: float | None = None
    doing: str | None = None
    since: float | None = None
    step: int | None = None
    streams: dict[str, dict[int, Entry]] = field(default_factory=dict)
    has_dump: bool = False
    program_end: End | None = None
    exit: End | None = None

    @property
    def entries(self) -> dict[int, Entry]:
        """The collectives that our own recorder has, by number."""
        return self.streams.get(OWN, {})

    @property
    def last(self) -> Entry | None:
        """The last collective that it entered, by our own recorder if there is one."""
        if self.entries:
            return self.entries[max(self.entries)]
        entered = [entries[max(entries)] for entries in self.streams.values() if entries]
        return max(entered, key=_begun, default=None)

    @property
    def inside(self) -> Entry | None:
        """The first collective that it has not left."""
        return min(self.blocked.values(), key=_begun, default=None)

    @property
    def blocked(self) -> dict[str, Entry]:
        """Of each stream the collective that it has not left; of torch's, the first of those in flight."""
        found = {}
        for stream, entries in self.streams.items():
            last = [entries[max(entries)]] if entries else []
            open_ones = [entry for entry in (last if stream == OWN else entries.values()) if entry.left is None]
            if open_ones:
                found[stream] = min(open_ones, key=lambda entry: entry.sequence)
        return found

    @property
    def end(self) -> End | None:
        """How it ended by itself; the program's own words tell more than its exit code."""
        return self.program_end or self.exit

    def corrected(self, time: float | None) -> float | None:
        """A time of its host by the clock of the first rank's host."""
        return None if time is None else time - self.offset


class Lost(NamedTuple):
    """A server that another one lost: what that one's launcher said, and where."""

    fact: ServerLost
    time: float | None
    place: Place


@dataclass
class Job:
    """The ranks by number; `size` is how many there must be. `now`: the last that was heard of any rank."""

    ranks: Mapping[int, Rank]
    size: int
    lost: Sequence[Lost]
    endings: Sequence[tuple[JobEnding, float | None, Place]]
    members: Mapping[str, frozenset[int]] = field(default_factory=dict)
    mismatch: Place | None = None
    """Where a rank says that it has received something else than it expected."""
    expected: Mapping[int, int] = field(default_factory=dict)
    """Bytes that ranks were about to receive when gloo ended them."""

    @property
    def streams(self) -> list[str]:
        """All streams, our own first."""
        return sorted({stream for rank in self.ranks.values() for stream in rank.streams})

    def members_of(self, stream: str) -> frozenset[int]:
        """The ranks that take part in a stream: as dumps name them, or else those that were seen in it."""
        if stream == OWN or stream.endswith(DEFAULT_GROUP):
            return frozenset(range(self.size))
        seen = frozenset(rank.number for rank in self.ranks.values() if stream in rank.streams)
        return self.members.get(stream, frozenset()) | seen

    @property
    def missing(self) -> list[int]:
        """The ranks that left no record."""
        return [rank for rank in range(self.size) if rank not in self.ranks]

    @property
    def now(self) -> float | None:
        """By the clock of the first rank's host."""
        times = [rank.corrected(time) for rank in self.ranks.values() for time in (rank.alive, _time(rank.end))]
        if len({rank.host for rank in self.ranks.values()}) == 1:  # the launcher has their clock
            times += [time for _, time, _ in self.endings]
        return max((time for time in times if time is not None), default=None)


def job_of(evidence: Evidence) -> Job | None:
    """The job, or None if no rank left a record. Of a run that was started again, the last start."""
    own = [event for event in evidence.events if isinstance(event.fact, _OWN) or _is_mismatch(event.fact)]
    attempt = max((_attempt(event) for event in own), default=0)
    events = [event for event in own if _attempt(event) == attempt]
    if any(_name(event).startswith("launcher_") for event in events):
        events = [event for event in events if _name(event) != "failed"]  # which has less of the same
    ranks: dict[int, Rank] = {}
    members: dict[str, frozenset[int]] = {}
    size = 0
    for event in events:
        size = max(size, _add(ranks, event))
        if isinstance(event.fact, Traced) and event.fact.members:
            members[event.fact.group] = frozenset(event.fact.members)
    _estimate_offsets(ranks.values())
    recorded = {number: rank for number, rank in ranks.items() if rank.place is not None}
    if not recorded:
        return None
    return Job(
        dict(sorted(recorded.items())),
        min(size, 1 << 20) or 1 + max(recorded),
        [Lost(event.fact, event.time, event.place) for event in events if isinstance(event.fact, ServerLost)],
        [(event.fact, event.time, event.place) for event in events if isinstance(event.fact, JobEnding)],
        members,
        next((event.place for event in events if isinstance(event.fact, Fault)), None),
        dict(_expected(events)),
    )


_OWN = (Joined, Step, Collective, Traced, Dumped, Alive, ProgramEnded, Exited, JobEnding, ServerLost, Oversized)


def _is_mismatch(fact: Fact) -> bool:
    return isinstance(fact, Fault) and fact.kind == MISMATCH


def _expected(events: Iterable[Event]) -> Iterator[tuple[int, int]]:
    """The rank stands in the name of its log."""
    for event in events:
        log = re.fullmatch(r"rank_([0-9]{1,7})\.log", _name(event))
        if log and isinstance(event.fact, Oversized):
            yield int(log[1]), event.fact.expected


def _attempt(event: Event) -> int:
    found = re.fullmatch("restart_([0-9]{1,7})", PurePath(event.place.file).parent.name)
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
        rank.place, rank.has_dump = rank.place or event.place, True
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
    """All ranks leave a collective at almost the same moment, so what their clocks say differs by the offset."""
    known = [rank for rank in sorted(ranks, key=lambda rank: rank.number) if rank.entries]
    by_host: dict[str | None, float] = {}
    for rank in known:
        if rank.host not in by_host:
            by_host[rank.host] = _offset(rank, known[0])
        rank.offset = by_host[rank.host]


def _offset(rank: Rank, first: Rank) -> float:
    pairs = [(rank.entries[n].left, first.entries[n].left) for n in sorted(rank.entries.keys() & first.entries.keys())]
    found = [own - other for own, other in pairs[-MAX_OFFSET_PAIRS:] if own is not None and other is not None]
    return median(found) if found else 0.0


def _begun(entry: Entry) -> float:
    return entry.begun or 0.0


def _time(end: End | None) -> float | None:
    return end.time if end else None


def most_common(values: Iterable[object]) -> list[object]:
    """The most frequent values: several if they are equally frequent."""
    counted = Counter(values)
    most = max(counted.values(), default=0)
    return [value for value, count in counted.items() if count == most]
