"""When a process last did something useful: an error before that did not end it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from hccl_kit.diagnosis.facts import Event, Joined, Progress, Step


class Work(NamedTuple):
    """When a process last joined a complete communicator or trained: by its clock, and by the lines of each file."""

    time: float | None
    lines: Mapping[str, int]

    @classmethod
    def of(cls, events: Iterable[Event]) -> Work:
        """The work of one process."""
        times: list[float] = []
        lines: dict[str, int] = {}
        for event in events:
            if isinstance(event.fact, Progress | Step) or (isinstance(event.fact, Joined) and event.fact.complete):
                if event.time is not None:
                    times.append(event.time)
                lines[event.place.file] = max(event.place.line, lines.get(event.place.file, 0))
        return cls(max(times, default=None), lines)

    def is_after(self, event: Event) -> bool:
        """Whether the process went on after an event."""
        if event.time is not None and self.time is not None:
            return self.time > event.time
        return self.lines.get(event.place.file, 0) > event.place.line


def is_earlier(event: Event, other: Event) -> bool | None:
    """Whether an event is earlier than another one by their times; None if they do not tell.

    Programs print whole seconds, in which the other one may have come first.
    """
    if event.time is None or other.time is None:
        return None
    first, second = (event.time, other.time)
    if int(first) == int(second) and (first.is_integer() or second.is_integer()):
        return None
    return first < second


def is_later(event: Event, other: Event) -> bool:
    """Whether an event of a process is later than another one, by their times or else by their lines in one file."""
    if event.time is not None and other.time is not None and event.time != other.time:
        return event.time > other.time
    return event.place.file == other.place.file and event.place.line > other.place.line
