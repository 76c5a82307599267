"""Names the rank that slows down the others while a training runs: one warning, and a verdict for summary.json."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hccl_kit.ocr.train.step import StepResult
from hccl_kit.runtime.join import World
from hccl_kit.runtime.pulse import Span
from hccl_kit.runtime.straggler import Streaks

MIN_STEPS = 10
"""Steps of a window, unless `system.log_interval` is more: fewer vary too much."""


class StragglerCheck:
    """Compares the ranks after every window of steps, by one small all-reduce, and warns of the first straggler."""

    def __init__(self, world: World, warn: Callable[[str], None], *, log_interval: int) -> None:
        self.world, self.warn = world, warn
        self.every = max(log_interval, MIN_STEPS)
        self.verdict: dict[str, Any] | None = None
        """The straggler that was warned of; `until_step` is None while it is one."""
        self._streaks = Streaks()
        self._window = Span()
        self._first_step: int | None = None

    def add(self, step: int, data_s: float, result: StepResult) -> None:
        """Count a step; `step` is the number of steps done. Every rank must call it for each of its steps.

        The first step of the process does not count: it compiles the network.
        """
        if self.world.size == 1:
            return
        if self._first_step is None:
            self._first_step = step + 1
            return
        self._window = self._window.and_then(Span(steps=1, data_s=data_s, compute_s=result.compute_s))
        if self._window.steps == self.every:
            self._compare(self._first_step, step)
            self._window, self._first_step = Span(), step + 1

    def _compare(self, first: int, last: int) -> None:
        rows = self.world.gather(np.array([self._window.data_s, self._window.compute_s], np.float32))
        windows = {
            rank: Span(steps=self._window.steps, data_s=float(data), compute_s=float(compute))
            for rank, (data, compute) in enumerate(rows)
        }
        self._streaks = self._streaks.after(windows, first)
        straggler = self._streaks.straggler(windows)
        if self.verdict is not None and self.verdict["rank"] not in self._streaks.by_rank:
            self.verdict["until_step"] = self.verdict["until_step"] or first - 1
        if straggler is None or (self.verdict is not None and self.verdict["rank"] != straggler[0].rank):
            return
        lag, since = straggler
        if self.verdict is None:
            self.verdict = {"rank": lag.rank, "part": lag.part, "since_step": since}
            self.warn(f"rank {lag.rank} slows down the others since step {since}, by its {lag.part}: {lag.figures}")
        self.verdict |= {
            "until_step": None,
            "last_step": last,
            "own_s": round(lag.own_s, 6),
            "others_s": round(lag.others_s, 6),
        }
