"""Sums over the steps of a rank: their number, where the time goes, the loss; in windows, and as a curve of the run.

A beat only adds numbers in memory. The flight recorder's thread writes them once a second, whatever the rate of steps.
"""

from __future__ import annotations

import math
import os
import resource
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import reduce
from operator import add
from typing import NamedTuple

STEPS, SECONDS = 5, 2.0
"""The least steps of a window, and the least seconds."""
RECENT = 4
"""Windows that a rank records: three for the rule of stragglers, and one that is not full yet."""
POINTS = 128
"""Points of the curve. When all are used, each two become one: the curve is always that of the whole run."""
_DIGITS = 6


class Span(NamedTuple):
    """Some steps: the last one, their number, the seconds of their parts and of all; sum and number of their losses."""

    step: int = 0
    steps: int = 0
    seconds: float = 0.0
    data_s: float = 0.0
    compute_s: float = 0.0
    communication_s: float = 0.0
    loss: float = 0.0
    losses: int = 0

    def and_then(self, later: Span) -> Span:
        """The sum of both."""
        return Span(later.step, *map(add, self[1:], later[1:]))

    def row(self) -> list[float]:
        """Step, number, seconds, data, compute, communication."""
        return [self.step, self.steps, *(round(value, _DIGITS) for value in self[2:6])]

    @property
    def own(self) -> float:
        """Seconds of a step that the rank takes by itself, for data and computing."""
        return (self.data_s + self.compute_s) / self.steps

    @property
    def mean_loss(self) -> float | None:
        """The mean loss; None if no beat had one."""
        return self.loss / self.losses if self.losses else None


class Point(NamedTuple):
    """A point of the curve: when it ends (seconds since 1970), its steps, the memory then."""

    time: float
    span: Span
    memory: int

    def row(self) -> list[float | str | None]:
        """Time, the values of `Span.row`, mean loss, memory."""
        return [round(self.time, 3), *self.span.row(), written(self.span.mean_loss), self.memory]


def total(spans: Iterable[Span]) -> Span:
    """The sum of all."""
    return reduce(Span.and_then, spans, Span())


def thinned(curve: Sequence[Point], most: int) -> tuple[Point, ...]:
    """The curve with at most `most` points, each the sum of as many consecutive ones."""
    size = -(-len(curve) // most) or 1
    groups = [curve[at : at + size] for at in range(0, len(curve), size)]
    return tuple(Point(group[-1].time, total(point.span for point in group), group[-1].memory) for group in groups)


class Pulse:
    """Fed by one thread; `row` and `points` may be read by another, since they are replaced as a whole."""

    def __init__(self) -> None:
        self.points: tuple[Point, ...] = ()
        self.folds = 1
        """Windows of a point; doubled whenever the points are used up."""
        self._closed: tuple[Span, ...] = ()
        self._open = Span()
        self._pending: list[Span] = []
        self._step: int | None = None
        self._at: float | None = None
        self._loss: float | None = None
        self._spent = {"data": 0.0, "communication": 0.0, "other": 0.0}

    def spent(self, part: str, seconds: float) -> None:
        """Time of this step that was spent on data, communication or something else ("other")."""
        self._spent[part] += seconds

    def beat(self, step: int, loss: float | None = None, parts: tuple[float, float, float] | None = None) -> None:
        """`step` steps are done; `parts` are the seconds of data, compute and communication since the last beat.

        Without parts, data and communication are the times given to `spent`, and computing is the rest. The first beat
        only starts the clock: the time before it is not a training step but the compilation of the network. So does a
        beat with the step of the last one.
        """
        now = time.monotonic()
        before, self._at = self._at, now
        last, self._step = self._step, step
        known, self._spent = self._spent, {"data": 0.0, "communication": 0.0, "other": 0.0}
        loss = None if loss is None else float(loss)
        self._loss = self._loss if loss is None else loss
        if before is None or last is None or step <= last:
            return
        elapsed = now - before
        data, compute, communication = parts or (
            known["data"],
            max(0.0, elapsed - sum(known.values())),
            known["communication"],
        )
        span = Span(step, step - last, elapsed, data, compute, communication, loss or 0.0, int(loss is not None))
        self._open = self._open.and_then(span)
        if self._open.steps >= STEPS and self._open.seconds >= SECONDS:
            self._close()

    def _close(self) -> None:
        """End a window, and a point of the curve if it has enough of them."""
        self._pending.append(self._open)
        self._closed, self._open = (*self._closed[-RECENT + 2 :], self._open), Span()
        if len(self._pending) < self.folds:
            return
        self.points = (*self.points, Point(time.time(), total(self._pending), memory()))
        self._pending = []
        if len(self.points) == POINTS:
            self.points = thinned(self.points, POINTS // 2)
            self.folds *= 2

    def row(self) -> dict[str, object]:
        """The values for a sign of life: seconds since the last beat, last loss, memory, the last windows."""
        at, opened = self._at, self._open
        recent = [*self._closed, *([opened] if opened.steps else [])]
        return {
            "idle": None if at is None else round(max(0.0, time.monotonic() - at), 3),
            "loss": written(self._loss),
            "memory": memory(),
            "windows": [span.row() for span in recent],
        }


def written(value: float | None) -> float | str | None:
    """A number for JSON, which has neither NaN nor infinity: a text for those."""
    if value is None:
        return None
    number = float(value)
    return float(f"{number:.6g}") if math.isfinite(number) else str(number)


def memory() -> int:
    """The resident set size of this process in bytes; its peak if /proc cannot be read."""
    with suppress(OSError, ValueError, IndexError):
        file = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
        try:
            return int(os.read(file, 200).split()[1]) * os.sysconf("SC_PAGE_SIZE")
        finally:
            os.close(file)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
