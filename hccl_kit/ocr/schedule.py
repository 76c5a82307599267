"""The learning rate of every step, as a pure function of the configuration."""

from __future__ import annotations

import math
from typing import Any


def learning_rate(step: int, scheduler: dict[str, Any], steps_per_epoch: int) -> float:
    """The rate of step `step` (from 0) of a `scheduler` section.

    warmup_cosine_decay: from lr/warm-up steps up to lr in a straight line, then half a cosine down to min_lr
    (Loshchilov and Hutter 2017); never 0 while min_lr or the cosine is above it, whatever the step.
    """
    highest: float = scheduler["lr"]
    if scheduler["scheduler"] == "constant":
        return highest
    warmup = scheduler["warmup_epochs"] * steps_per_epoch
    if step < warmup:
        return highest * min(1.0, (step + 1) / warmup)  # a warm-up may end within a step
    epochs = scheduler["decay_epochs"]
    decay = (scheduler["num_epochs"] - scheduler["warmup_epochs"] if epochs is None else epochs) * steps_per_epoch
    # (step - warmup) runs to decay - 1, so the last step still moves the weights.
    done = min(1.0, (step - warmup) / max(decay, 1))
    lowest: float = scheduler["min_lr"]
    return lowest + (highest - lowest) * 0.5 * (1 + math.cos(math.pi * done))
