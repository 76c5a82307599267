"""A job as its own records show it: every rank with its last collectives, its last sign of life and its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from hccl_kit.diagnosis.facts import JobEnding, Place, Process, ServerLost

OWN = ""
"""The stream of collectives that our own recorder counts; the others are process groups of torch."""
DEFAULT_GROUP = "(default_pg)"
"""How the name of torch's default group ends, which has all ranks."""


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
    """What is known of a rank; `offset` is the seconds by which its host's clock is ahead of that of the first rank."""

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
    is_cut: bool = False
    """A part of its record is missing: it may have entered more collectives, have failed, or have ended."""
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
        return max(entered, key=begun, default=None)

    @property
    def inside(self) -> Entry | None:
        """The first collective that it has not left."""
        return min(self.blocked.values(), key=begun, default=None)

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
    """The ranks by number; `size` is how many there must be. `now`: the time of the last record of any rank."""

    ranks: Mapping[int, Rank]
    size: int
    lost: Sequence[Lost]
    endings: Sequence[tuple[JobEnding, float | None, Place]]
    members: Mapping[str, frozenset[int]] = field(default_factory=dict)
    mismatch: Place | None = None
    """Where a rank reports that it received another size than it expected."""
    expected: Mapping[int, int] = field(default_factory=dict)
    """Bytes that ranks were about to receive when gloo ended them."""
    left_out: frozenset[Process] = frozenset()
    """Processes of earlier runs whose records were read too."""

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
    def is_whole(self) -> bool:
        """Whether every rank left a record, and nothing of it is missing."""
        return not self.missing and not any(rank.is_cut for rank in self.ranks.values())

    @property
    def now(self) -> float | None:
        """The time of the last record of any rank, by the clock of the first rank's host."""
        times = [rank.corrected(time) for rank in self.ranks.values() for time in (rank.alive, _time(rank.end))]
        if len({rank.host for rank in self.ranks.values()}) == 1:  # the launcher has their clock
            times += [time for _, time, _ in self.endings]
        return max((time for time in times if time is not None), default=None)


def begun(entry: Entry) -> float:
    """When a rank entered a collective, as a key to sort by."""
    return entry.begun or 0.0


def _time(end: End | None) -> float | None:
    return end.time if end else None


def most_common(values: Iterable[object]) -> list[object]:
    """The most frequent values: several if they are equally frequent."""
    counted = Counter(values)
    most = max(counted.values(), default=0)
    return [value for value, count in counted.items() if count == most]
