"""What the trainer asks of a task, which is text recognition or text detection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from mindspore import nn
from numpy.typing import NDArray

from hccl_kit.ocr.data.loader import Batch, Targets
from hccl_kit.runtime import World

Warn = Callable[[str], None]


class Counts(Protocol):
    """Sums over samples from which the scores of a data set follow; over ranks they add up exactly."""

    def to_array(self) -> NDArray[np.float32]:
        """For an all-reduce: shape (k,)."""

    def row(self) -> dict[str, float]:
        """The scores by the names they have in metrics.jsonl and summary.json."""

    def score(self, indicator: str) -> float:
        """The one that `metric.main_indicator` names; the higher the better."""


class Task(Protocol):
    """The data side of a family of models: what goes in, what comes out, what it is worth."""

    label_steps: frozenset[str]
    """The steps of a transform_pipeline that need labels: evaluation and prediction go without."""
    dictionary: str
    """SHA-256 of the characters that the classes stand for, in their order; empty where classes are none."""
    nothing: NDArray[np.float32]
    """The sums of no sample, as `Counts.to_array` has them."""

    def loss(self) -> nn.Cell:
        """Takes the prediction of the network in training and the targets; a scalar."""

    def train_samples(self, warn: Warn) -> tuple[Sequence[Any], int]:
        """The samples that can be learnt from, and how many there are besides."""

    def eval_samples(self, warn: Warn) -> Sequence[Any]:
        """The samples that the evaluation counts."""

    def lengths(self, samples: Sequence[Any], world: World) -> NDArray[np.float32] | None:
        """By which samples share their batches, like with like; None: as chance will have it.

        Every rank must call it: they may share the work.
        """

    def collate(self, rows: Sequence[Any]) -> tuple[NDArray[np.float32], Targets]:
        """The images and what the loss takes of a training batch, from transformed samples."""

    def blank(self, sample: Any) -> Any:
        """A sample whose image cannot be read, with an empty image."""

    def decode(self, outputs: NDArray[np.float32], samples: Sequence[Any]) -> list[Any]:
        """What the network says of each of `samples`; `outputs` may have more rows."""

    def count(self, sample: Any, found: Any) -> Counts:
        """What a finding is worth, beside the truth."""

    def mistake(self, sample: Any, found: Any) -> str | None:
        """A line that shows a wrong finding beside the truth; None where it is right."""

    def picture(self, batch: Batch) -> NDArray[np.uint8]:
        """The images of a batch as the network gets them, with what it is to find there: HxWx3, blue first."""

    def total(self, sums: NDArray[np.float32]) -> Counts:
        """The counts of an all-reduce over `Counts.to_array`."""
