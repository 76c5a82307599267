"""The steps that ranks count, in `step_<rank>` of the log folder, and the ranks that have stopped counting."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from hccl_kit.agent.evidence import read_plain

_STEP = re.compile(rb"(0|[1-9][0-9]{0,17})\n?")


def step_of(folder: str, rank: int) -> int | None:
    """The last step that a rank has counted; None if it counts none."""
    beat = _beat(folder, rank)
    return beat[1] if beat else None


def furthest(folder: str, ranks: Iterable[int]) -> int | None:
    """The highest step of the ranks; None if none counts."""
    steps = [step for step in (step_of(folder, rank) for rank in ranks) if step is not None]
    return max(steps) if steps else None


class Progress:
    """Notices that a rank takes no step for `limit` seconds, by a clock that only moves forward.

    A rank beats with each change of its file. A rank without a file, such as one that still compiles, is not judged.
    """

    def __init__(self, folder: str, limit: float) -> None:
        self.folder = folder
        self.limit = limit
        self.beats: dict[int, tuple[tuple[int, int], float]] = {}
        self.looked: float | None = None

    def still(self, ranks: Iterable[int], now: float) -> tuple[tuple[int, ...], int] | None:
        """The ranks at the lowest step and that step, if one of `ranks` has stopped; otherwise None."""
        slept = self.looked is not None and now - self.looked > self.limit / 2
        self.looked = now
        stopped = False
        steps: dict[int, int] = {}
        for rank in ranks:
            beat = _beat(self.folder, rank)
            if beat is None:
                continue
            steps[rank] = beat[1]
            before, since = self.beats.get(rank, (None, now))
            # While this process was stopped, the ranks may have waited for it.
            if before != beat or slept:
                self.beats[rank] = (beat, now)
            elif now - since > self.limit:
                stopped = True
        if not stopped:
            return None
        lowest = min(steps.values())
        return tuple(rank for rank in sorted(steps) if steps[rank] == lowest), lowest


def _beat(folder: str, rank: int) -> tuple[int, int] | None:
    """When the file of a rank was written, in nanoseconds, and its step."""
    try:
        about, data = read_plain(os.path.join(folder, f"step_{rank}"), 21)
    except OSError:
        return None
    match = _STEP.fullmatch(data.partition(b"\n")[0])
    return (about.st_mtime_ns, int(match[1])) if match else None
