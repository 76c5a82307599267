"""Batched inference: the predictions of a network for samples, while threads prepare the next batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from mindspore import Tensor, nn
from numpy.typing import NDArray

from hccl_kit.ocr.data import loader
from hccl_kit.ocr.data.pipeline import pipeline
from hccl_kit.ocr.tasks.task import Task


@dataclass(frozen=True, slots=True)
class Prediction:
    """The prediction for a transformed sample; `error` says why its image could not be used."""

    sample: Any
    value: Any
    error: str | None = None


class Inference:
    """Runs networks of a task with the pipeline and the loader of a section `eval`; it needs no labels."""

    def __init__(self, task: Task, section: Mapping[str, Any]) -> None:
        self.task = task
        self.transform = pipeline(section["dataset"]["transform_pipeline"], without=task.label_transforms)
        self.batch_size: int = section["loader"]["batch_size"]
        self.workers: int = section["loader"]["num_workers"]

    def batches(
        self, network: nn.Cell, samples: Sequence[Any], share: NDArray[np.intp] | None = None
    ) -> Iterator[list[Prediction]]:
        """The predictions for `samples`, or for those whose numbers `share` holds, in order.

        An image that cannot be used is replaced by a blank one.
        """
        numbers = np.arange(len(samples)) if share is None else share
        tasks = [numbers[start : start + self.batch_size] for start in range(0, len(numbers), self.batch_size)]
        make = partial(
            loader.eval_batch, samples, transform=self.transform, blank=self.task.blank, batch_size=self.batch_size
        )
        network.set_train(False)
        for batch in loader.prefetch(tasks, make, self.workers):
            errors = {sample.path: reason for sample, reason in batch.bad}
            # A network in mixed precision may end in float16, which OpenCV does not know.
            outputs = network(Tensor(batch.images)).asnumpy().astype(np.float32, copy=False)
            values = self.task.decode(outputs, batch.samples)
            yield [
                Prediction(sample, value, errors.get(sample.path))
                for sample, value in zip(batch.samples, values, strict=True)
            ]
