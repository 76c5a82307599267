"""Checks of a running training: values that are not finite, weights that do not move, a rank that slows the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hccl_kit.base.errors import EXIT_FINDINGS
from hccl_kit.base.wording import listed
from hccl_kit.ocr.checkpoints.checkpoint import Progress
from hccl_kit.ocr.data.loader import Batch
from hccl_kit.ocr.train import parameters
from hccl_kit.ocr.train.job import Job
from hccl_kit.ocr.train.step import StepResult
from hccl_kit.runtime.consistency import JointError
from hccl_kit.runtime.join import World
from hccl_kit.runtime.pulse import Span
from hccl_kit.runtime.straggler import Streaks

WATCH = 10
"""Steps after which the weights must have moved."""
SHOWN = 5
"""Parameters that a message names."""


class TrainingError(JointError):
    """The training failed, on all ranks: exit code 1."""

    exit_code = EXIT_FINDINGS


def assert_finite(job: Job, result: StepResult, batch: Batch, step: int) -> None:
    """Raises TrainingError if loss or gradient are not finite; logs an overflow that only skips the update."""
    if result.skipped:
        lowered = f", scale lowered to {result.next_scale:g}" if result.next_scale < result.scale else ""
        job.log.say(f"step {step + 1} overflowed with loss scale {result.scale:g}: update skipped{lowered}")
    if result.finite or result.skipped:
        return
    names = ", ".join(str(sample.path) for sample in batch.samples[:8])
    raise TrainingError(
        f"step {step + 1} is not finite (loss {result.loss}, gradient norm {result.norm}); "
        f"the weights were not touched. Samples of this rank: {names}",
        hint="lower scheduler.lr, set train.clip_grad: True, check the samples",
    )


def assert_moving(job: Job, progress: Progress) -> None:
    """Raises TrainingError if no weight has moved since the start; warns about single ones.

    A resumed run is not checked: it may have only the last steps left, whose learning rate is close to 0.
    """
    if job.start.step:
        return
    still = parameters.still(job.initial, job.network)
    weights = [name for name, value in job.initial.items() if value.ndim > 1]
    if still == weights:
        raise TrainingError(
            f"the weights have not moved until step {progress.step}", hint="scheduler.lr may be too small"
        )
    if still:
        job.log.warn(f"{len(still)} of {len(weights)} weights have not moved, such as {still[0]}")


def warn_about_idle_parameters(job: Job) -> None:
    """Name the parameters that no step has given a gradient."""
    idle = job.step.without_gradient
    if idle:
        job.log.warn(f"{len(idle)} parameters got no gradient in {WATCH} steps: {listed(idle, SHOWN)}")


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
