"""Which rank slows down the others: by its own time for a step, which is that for data and computing.

All ranks of a job take a step together, so the time from step to step is the same for all of them. A rank that is slow
shows in what it does alone; the time of the others in collectives grows, because they wait for it. So communication
never counts. The rule:

1. A window is some steps of a rank. Its own time is (data + compute) / steps.
2. A rank lags in a window if its own time is more than SLOWER times the median of the other ranks (the higher of the
   two middle values if their number is even).
3. A straggler lags in WINDOWS windows one after the other.
4. Of several stragglers, the one with the longest own time is named, and of equal ones the lowest rank.
5. The part is that whose time exceeds the median of the others by more.

It follows that at most half of the ranks lag, that a rank alone never does, and that the unit of time does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median_high
from typing import Literal, NamedTuple

from hccl_kit.base.message import Message
from hccl_kit.runtime.pulse import Span, total

SLOWER = 1.1
"""How many times the own time of the others counts as slow."""
WINDOWS = 3
"""Windows in which a straggler lags: what happens once, such as a file that is read again, does not count."""

Part = Literal["data", "compute"]
PARTS: Mapping[Part, Message] = {
    "data": Message("runtime.part-data", "data"),
    "compute": Message("runtime.part-compute", "compute"),
}


class Lag(NamedTuple):
    """A rank that is slower than the others: its own seconds for a step, those of the others, and the part."""

    rank: int
    own_s: float
    others_s: float
    part: Part

    @property
    def excess(self) -> float:
        """By which share of the time of the others it is slower; 0.5 is half as long again."""
        return self.own_s / self.others_s - 1 if self.others_s else float("inf")

    @property
    def figures(self) -> Message:
        """The figures in words."""
        more = Message("runtime.lag-none", "the others take none")
        if self.others_s:
            more = Message("runtime.lag-more", "{excess:.0%} more", excess=self.excess)
        return Message(
            "runtime.lag",
            "{own} a step for data and computing, the others {others} ({more})",
            own=seconds(self.own_s),
            others=seconds(self.others_s),
            more=more,
        )


def seconds(value: float) -> str:
    """A short time in words: "0.21 s", "3.4 ms"."""
    return f"{value:.2f} s" if value >= 0.1 else f"{value * 1000:.3g} ms"


def slowest(windows: Mapping[int, Span]) -> Lag | None:
    """The rank with the longest own time, compared with the others; None if fewer than two have taken steps."""
    return _compared(windows, [rank for rank, window in windows.items() if window.steps > 0])


def lagging(windows: Mapping[int, Span]) -> frozenset[int]:
    """The ranks that lag in a window."""
    times = {rank: window.own for rank, window in windows.items() if window.steps > 0}
    if len(times) < 2:
        return frozenset()
    # The median of the others for a rank that is above it; for any other rank it makes no difference.
    median = sorted(times.values())[(len(times) - 1) // 2]
    return frozenset(rank for rank, value in times.items() if value > SLOWER * median)


def straggler(rounds: Sequence[Mapping[int, Span]]) -> Lag | None:
    """The straggler by the last WINDOWS windows of the ranks, with its figures over all of them; None without one."""
    if len(rounds) < WINDOWS:
        return None
    recent = rounds[-WINDOWS:]
    always = frozenset.intersection(*map(lagging, recent))
    together = {rank: total(windows[rank] for windows in recent if rank in windows) for rank in set().union(*recent)}
    return _compared(together, always)


@dataclass(frozen=True, slots=True)
class Streaks:
    """The ranks that lag as a job goes on: the first step of the first window in which each lags, and their number."""

    by_rank: Mapping[int, tuple[int, int]] = field(default_factory=dict)

    def after(self, windows: Mapping[int, Span], first_step: int) -> Streaks:
        """The state after one more window, which began with `first_step`."""
        before = {rank: self.by_rank.get(rank, (first_step, 0)) for rank in lagging(windows)}
        return Streaks({rank: (since, number + 1) for rank, (since, number) in before.items()})

    def straggler(self, windows: Mapping[int, Span]) -> tuple[Lag, int] | None:
        """The straggler and the step since when it is one; its figures are of `windows`, the last ones."""
        lag = _compared(windows, [rank for rank, (_, number) in self.by_rank.items() if number >= WINDOWS])
        return None if lag is None else (lag, self.by_rank[lag.rank][0])


def _compared(windows: Mapping[int, Span], candidates: Iterable[int]) -> Lag | None:
    """The slowest of the candidates, compared with all others."""
    there = {rank: window for rank, window in windows.items() if window.steps > 0}
    among = [rank for rank in candidates if rank in there]
    if len(there) < 2 or not among:
        return None
    rank = max(among, key=lambda number: (there[number].own, -number))
    slow, others = there[rank], [window for other, window in there.items() if other != rank]
    data = slow.data_s / slow.steps - median_high([window.data_s / window.steps for window in others])
    compute = slow.compute_s / slow.steps - median_high([window.compute_s / window.steps for window in others])
    part: Part = "data" if data > compute else "compute"
    return Lag(rank, slow.own, median_high([window.own for window in others]), part)
