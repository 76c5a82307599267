"""Where the time of training steps goes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hccl_kit.ocr.data.loader import Batch
from hccl_kit.ocr.train.step import StepResult
from hccl_kit.runtime.flight_recorder import OFF, FlightRecorder


@dataclass
class StepTiming:
    """Seconds spent waiting for data, computing and communicating, and the samples of all ranks in that time."""

    data_s: float = 0.0
    compute_s: float = 0.0
    communication_s: float = 0.0
    samples: int = 0
    steps: int = 0

    def add(self, data_s: float, result: StepResult, samples: int) -> None:
        """Count one step."""
        self.data_s += data_s
        self.compute_s += result.compute_s
        self.communication_s += result.communication_s
        self.samples += samples
        self.steps += 1

    @property
    def total_s(self) -> float:
        """Seconds of all parts."""
        return self.data_s + self.compute_s + self.communication_s

    def left(self, steps: int) -> str:
        """How long `steps` more steps will take, in words; empty if no step was timed."""
        seconds = self.total_s / self.steps * steps if self.steps else 0.0
        if seconds >= 5400:
            return f"{seconds / 3600:.1f} h left"
        return f"{seconds / 60:.0f} min left" if seconds >= 90 else f"{seconds:.0f} s left" if seconds else ""

    def row(self) -> dict[str, Any]:
        """The figures for metrics.jsonl and summary.json; samples per second of all ranks, None without steps."""
        return {
            "samples_per_s": round(self.samples / self.total_s, 1) if self.samples else None,
            "data_s": round(self.data_s, 3),
            "compute_s": round(self.compute_s, 3),
            "communication_s": round(self.communication_s, 3),
        }

    def __str__(self) -> str:
        """The figures for a line of the log, with the bottleneck."""
        if not self.samples:
            return "no step was timed"
        whole = self.total_s or 1.0
        parts = {"data": self.data_s, "compute": self.compute_s, "communication": self.communication_s}
        shares = " ".join(f"{name} {seconds / whole:.0%}" for name, seconds in parts.items())
        speed = self.samples / whole
        return f"{speed:.{0 if speed >= 10 else 2}f} samples/s, {shares}, bound by {max(parts, key=parts.__getitem__)}"


@dataclass
class Meter:
    """Times and losses of a run: its first step, which compiles the network, the rest, and the current log interval."""

    first: StepTiming = field(default_factory=StepTiming)
    rest: StepTiming = field(default_factory=StepTiming)
    interval: StepTiming = field(default_factory=StepTiming)
    losses: list[float] = field(default_factory=list)

    def add(self, result: StepResult, data_s: float, *, samples: int) -> None:
        """Count one step; of the first step of the run, only the loss counts in an interval."""
        self.losses.append(result.loss)
        for timing in (self.rest, self.interval) if self.first.steps else (self.first,):
            timing.add(data_s, result, samples)

    def begin_interval(self) -> None:
        """Forget the steps of the interval that was logged."""
        self.interval, self.losses = StepTiming(), []

    @property
    def loss(self) -> float:
        """The mean loss of the interval."""
        return float(np.mean(self.losses))


def timed(batches: Iterator[tuple[int, Batch]], recorder: FlightRecorder = OFF) -> Iterator[tuple[int, Batch, float]]:
    """Every step and batch with the seconds that the loop waited for it, which the recorder sees too."""
    while True:
        started = time.perf_counter()
        with recorder.waiting("data"):
            numbered = next(batches, None)
        if numbered is None:
            return
        yield *numbered, time.perf_counter() - started
