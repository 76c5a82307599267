"""What the ranks of a test have reported, and which of them are lost. No process and no clock: both are at the edge.

A rank is dead if its process ended, stopped if it shows no sign of life while others do, and unreachable if its server
is. A rank that waits for one of them is not lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from hccl_kit.base.message import Message
from hccl_kit.selftest.measured import Loss, LostRank, Operator
from hccl_kit.selftest.protocol import Event, Result


@dataclass(frozen=True, slots=True)
class RankState:
    """One rank. `seen` is the time of its last sign of life, None if there was none.

    `stopped` is the part of the last second in which its process was stopped; `stops` and `seconds` are the sum and
    the number of these parts since it was ready. `result` is that of its last step, whose number is `step`. `is_late`:
    it has not ended a step in time.
    """

    phase: Literal["started", "loaded", "ready"] = "started"
    seen: float | None = None
    stopped: float = 0.0
    stops: float = 0.0
    seconds: int = 0
    step: int = 0
    result: Result | None = None
    is_late: bool = False

    def after(self, event: Event, now: float) -> RankState:
        """The rank after an event at the time `now`."""
        if event.kind == "state":
            rank = replace(self, stopped=event.stopped)
            if self.phase == "ready":
                rank = replace(rank, stops=self.stops + event.stopped, seconds=self.seconds + 1)
            return rank if event.stopped == 1.0 else replace(rank, seen=now)  # a stopped process gives no sign of life
        rank = replace(self, seen=now)
        if event.kind == "ready" or (event.kind == "loaded" and self.phase == "started"):
            return replace(rank, phase=event.kind)
        if event.kind == "result":
            return replace(rank, step=event.step, result=event.result, is_late=False)
        return rank


class RankStates:
    """All ranks of a test. `lost` are those that are lost, `skipped` the operators that their framework lacks."""

    def __init__(self, numbers: Iterable[int], *, shares_fate: bool) -> None:
        """`shares_fate`: if one rank is lost, so is the whole job (MPI, MindSpore), and only the first is to blame."""
        self.shares_fate = shares_fate
        self.lost: dict[int, LostRank] = {}
        self.skipped: tuple[Operator, ...] = ()
        self._known = dict.fromkeys(numbers, RankState())

    def hear(self, event: Event, now: float) -> None:
        """Take an event of a known rank."""
        before = self._known[event.rank]
        rank = before.after(event, now)
        if self.shares_fate and before.is_late:
            rank = replace(rank, is_late=True)
        self._known[event.rank] = rank
        if event.kind == "ready":
            self.skipped = event.skipped
        elif event.kind == "gone":
            self.lose([event.rank], "dead" if rank.phase == "ready" else "not started", event.detail)

    def lose(self, numbers: Iterable[int], how: Loss, detail: str) -> None:
        """Note a loss. The first of a rank counts; if ranks share their fate, none counts after one has died."""
        for number in numbers:
            if not (self.shares_fate and any(loss.how == "dead" for loss in self.lost.values())):
                self.lost.setdefault(number, LostRank(number, how, detail))

    def lose_without_result(self, problems: Mapping[int, str]) -> None:
        """Count ranks without a result as lost, with the reason; if all share their fate, only if none is lost yet."""
        if not self.is_doomed:
            for number, problem in sorted(problems.items()):
                self.lose([number], "no result", problem)

    def lose_silent(self, numbers: Sequence[int], now: float, silence: float) -> None:
        """Lose those of `numbers` that were silent for more than `silence` seconds.

        A rank is silent relative to the last that answered, since this program may have been held up; if none answers,
        all are silent.
        """
        latest = max((rank.seen for rank in self._known.values() if rank.seen is not None), default=now)
        everybody = now - latest > 2 * silence
        for number in numbers:
            rank = self._known[number]
            if everybody or latest - (latest if rank.seen is None else rank.seen) > silence:
                self.lose([number], "stopped", _why_silent(rank, silence))

    def lose_late(self, step: int, numbers: Sequence[int]) -> None:
        """Take no more account of ranks that have not ended a step in time, until they do."""
        for number in self.without(step, numbers):
            self._known[number] = replace(self._known[number], is_late=True)

    def lose_unready(self, seconds: float) -> None:
        """Lose the ranks that are not ready after `seconds`: those that did not load, since others wait for them."""
        waiting = self.unready()
        unloaded = [number for number in waiting if self._known[number].phase != "loaded"]
        for number in unloaded or waiting:
            self.lose([number], "not started", _why_late(self._known[number], seconds))

    @property
    def is_doomed(self) -> bool:
        """Whether the others are lost with one that is."""
        return self.shares_fate and bool(self.lost)

    @property
    def is_over(self) -> bool:
        """Whether no further step makes sense."""
        is_held_up = self.shares_fate and any(rank.is_late for rank in self._known.values())
        return self.is_doomed or is_held_up or not self.available()

    def available(self) -> list[int]:
        """The ranks that can take part in the next step, ascending."""
        return sorted(number for number, rank in self._known.items() if number not in self.lost and not rank.is_late)

    def unready(self) -> list[int]:
        """The available ranks that are not ready."""
        return [number for number in self.available() if self._known[number].phase != "ready"]

    def phases(self) -> list[str]:
        """How far the ranks have come, in a form that changes with any progress."""
        return [rank.phase for rank in self._known.values()]

    def without(self, step: int, numbers: Iterable[int]) -> list[int]:
        """Those of `numbers` that have no result of a step, and are not lost."""
        return [number for number in numbers if self._known[number].step != step and number not in self.lost]

    def results(self, step: int, numbers: Iterable[int], problem: str) -> dict[int, Result]:
        """The results of a step; `problem` is that of ranks that have not ended it. Lost ranks have none."""
        ranks = {number: self._known[number] for number in numbers if number not in self.lost}
        late = Result(problem=problem)
        return {number: rank.result if rank.result and rank.step == step else late for number, rank in ranks.items()}

    def losses(self) -> tuple[LostRank, ...]:
        """The ranks that are lost, ascending."""
        return tuple(self.lost[number] for number in sorted(self.lost))

    def stalled(self, number: int) -> float:
        """The part of the time since it was ready in which the process of a rank was stopped by a signal."""
        rank = self._known[number]
        return rank.stops / rank.seconds if rank.seconds else 0.0


def _why_silent(rank: RankState, silence: float) -> Message:
    if rank.stopped == 1.0:
        return Message("selftest.process-stopped", "its process is stopped, as by SIGSTOP")
    return Message("selftest.no-sign-of-life", "no sign of life for {seconds:g} s", seconds=silence)


def _why_late(rank: RankState, seconds: float) -> Message:
    if rank.phase == "loaded":
        return Message("selftest.not-joined", "it did not join the group within {seconds:g} s", seconds=seconds)
    if rank.seen is not None:
        return Message("selftest.not-loaded", "its framework did not load within {seconds:g} s", seconds=seconds)
    return Message("selftest.never-seen", "no sign of it within {seconds:g} s", seconds=seconds)
