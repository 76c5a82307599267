"""What the recorders of a rank kept of it: its last collectives, its last sign of life and its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from hccl_kit.diagnosis.facts import Event, Exited, ProgramEnded

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
