"""The learning rate of every step, as a pure function of the configuration.

The section `scheduler` has MindOCR's names and keys. A curve begins after the warm-up and is a function of the epoch, a
fraction within one; with `lr_epoch_stair` the rate changes between epochs only.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping
from typing import Any

from hccl_kit.base.errors import KitError

Section = Mapping[str, Any]


def learning_rate(step: int, scheduler: Section, steps_per_epoch: int) -> float:
    """The rate of step `step` (from 0). Raises KitError if the values of the section are not valid together.

    The warm-up rises from lr * warmup_factor and reaches lr with its last step. MindOCR's warm-up is one step later:
    its first step has the rate lr * warmup_factor, by default 0, and changes nothing.
    """
    highest: float = scheduler["lr"]
    stair: bool = scheduler["lr_epoch_stair"]
    warmup: float = scheduler["warmup_epochs"]
    if step < warmup * steps_per_epoch:
        done = (step // steps_per_epoch + 1) / warmup if stair else (step + 1) / (warmup * steps_per_epoch)
        return highest * _rise(min(1.0, done), scheduler)  # a warm-up may end within a step
    epoch = (step - warmup * steps_per_epoch) / steps_per_epoch
    return highest * _CURVES[scheduler["scheduler"]](float(math.floor(epoch)) if stair else epoch, scheduler)


def warnings(scheduler: Section, steps_per_epoch: int) -> list[str]:
    """A warning for a run whose learning rate is 0 from some epoch on, with the fix."""
    epochs: int = scheduler["num_epochs"]
    for epoch in range(epochs):
        if learning_rate(epoch * steps_per_epoch, scheduler, steps_per_epoch) <= 0:
            return [
                f"the learning rate is 0 from epoch {epoch + 1} of {epochs} on: these epochs train nothing; let the "
                "curve end with the last epoch (scheduler.decay_epochs), raise scheduler.min_lr above 0 or lower "
                "num_epochs"
            ]
    return []


def _rise(done: float, scheduler: Section) -> float:
    """The share of lr during the warm-up: linear, for one_cycle half a cosine from at least 1/25."""
    lowest: float = scheduler["warmup_factor"]
    if scheduler["scheduler"] != "one_cycle":
        return lowest + (1 - lowest) * done
    lowest = lowest or 1 / 25
    return lowest + (1 - lowest) * (1 - _half_cosine(done))


def _half_cosine(done: float) -> float:
    """1 at 0, 0 at 1."""
    return 0.5 * (1 + math.cos(math.pi * done))


def _rest(scheduler: Section) -> float:
    """Number of epochs after the warm-up."""
    return float(scheduler["num_epochs"] - scheduler["warmup_epochs"])


def _cosine(epoch: float, scheduler: Section) -> float:
    """Half a cosine from lr to min_lr in decay_epochs (Loshchilov and Hutter 2017), num_cycles times.

    Every cycle starts cycle_decay times lower; after the last one the rate is min_lr. decay_epochs null: the epochs
    after the warm-up, divided by the number of cycles.
    """
    cycles: int = scheduler["num_cycles"]
    epochs: float | None = scheduler["decay_epochs"]
    length = _rest(scheduler) / cycles if epochs is None else epochs
    lowest = scheduler["min_lr"] / scheduler["lr"]
    cycle = math.floor(epoch / length) if length > 0 else cycles
    if cycle >= cycles:
        return float(lowest)
    highest = scheduler["cycle_decay"] ** cycle
    return float(lowest + (highest - lowest) * _half_cosine(epoch / length - cycle))


def _one_cycle(epoch: float, scheduler: Section) -> float:
    """Half a cosine from lr to min_lr over all epochs after the warm-up (Smith and Topin, Super-Convergence, 2018).

    As in PyTorch's OneCycleLR; its pct_start is warmup_epochs / num_epochs.
    """
    return _cosine(epoch, {**scheduler, "decay_epochs": None, "num_cycles": 1})


def _polynomial(epoch: float, scheduler: Section) -> float:
    """(1 - t)^decay_rate, t the completed share of the epochs after the warm-up: the "poly" rate of DBNet (2020)."""
    rest = _rest(scheduler)
    return float(max(1 - epoch / rest, 0.0) ** scheduler["decay_rate"]) if rest > 0 else 0.0


def _steps(epoch: float, scheduler: Section) -> float:
    """Multiplied by decay_rate every decay_epochs."""
    every: float | None = scheduler["decay_epochs"]
    if every == 0:
        raise KitError(
            "ocr.schedule.scheduler-decay-epochs",
            "scheduler.decay_epochs is 0: step_decay needs the epochs between two steps, such as 10",
        )
    return _lowered(0 if every is None else math.floor(math.floor(epoch) / every), scheduler)


def _milestones(epoch: float, scheduler: Section) -> float:
    """Multiplied by decay_rate at each epoch of `milestones`, counted after the warm-up."""
    return _lowered(bisect_right(sorted(scheduler["milestones"]), math.floor(epoch)), scheduler)


def _lowered(times: float, scheduler: Section) -> float:
    """decay_rate^times."""
    factor: float = scheduler["decay_rate"]
    if factor > 1:
        raise KitError(
            "ocr.schedule.scheduler-decay-rate",
            "scheduler.decay_rate is {factor}: {scheduler} multiplies the learning rate by it; "
            "accepted: above 0 and at most 1",
            factor=factor,
            scheduler=scheduler["scheduler"],
        )
    return float(factor**times)


_CURVES: Mapping[str, Callable[[float, Section], float]] = {
    "constant": lambda _epoch, _scheduler: 1.0,
    "cosine_decay": _cosine,
    "warmup_cosine_decay": _cosine,  # an alias, as below
    "polynomial_decay": _polynomial,
    "exponential_decay": _lowered,
    "step_decay": _steps,
    "multi_step_decay": _milestones,
    "warmup_multistep_decay": _milestones,
    "one_cycle": _one_cycle,
}
"""From the epoch after the warm-up to the share of lr."""
