"""The score of a network on a data set; every sample counts once, for any number of ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext

import numpy as np
from mindspore import nn
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.config import Config
from hccl_kit.ocr.data import loader
from hccl_kit.ocr.infer.inference import Inference, Prediction
from hccl_kit.ocr.metrics.counts import Counts
from hccl_kit.ocr.run.consistency import assert_one_data_set
from hccl_kit.ocr.tasks import recipes
from hccl_kit.runtime import World

Watch = Callable[[Iterator[Prediction], int], AbstractContextManager[Iterator[Prediction]]]
"""Passes on so many predictions, and may show progress."""


def _unwatched(predictions: Iterator[Prediction], total: int) -> AbstractContextManager[Iterator[Prediction]]:
    del total
    return nullcontext(predictions)


class Evaluator:
    """Scores a network on the data set of the section `eval`; built once, used after any number of epochs."""

    def __init__(self, config: Config, world: World, warn: Callable[[str], None]) -> None:
        self.world = world
        self.warn = warn
        self.task = recipes.task(config)
        self.samples = self.task.eval_samples(warn)
        assert_one_data_set("eval", len(self.samples), world)
        self.inference = Inference(self.task, config["eval"])
        self.bad: set[str] = set()

    def __call__(
        self, network: nn.Cell, watch: Watch = _unwatched, *, alive: Callable[[], None] = lambda: None
    ) -> tuple[Counts, list[Prediction]]:
        """The counts over all ranks, and the predictions of this rank.

        `watch` is `hccl_kit.base.progress.track` or nothing; `alive` is called after every batch. Every rank must call
        it. Raises KitError if no image can be read.
        """
        share = loader.eval_share(len(self.samples), rank=self.world.rank, size=self.world.size)
        with watch(self._predict(network, share, alive), len(share)) as predicted:
            predictions = list(predicted)
        rows = [
            self.task.counts().to_array(),
            *(self.task.count(one.sample, one.value).to_array() for one in predictions),
        ]
        unread = sum(str(one.sample.path) in self.bad for one in predictions)
        sums = self.world.all_reduce(np.append(np.sum(rows, axis=0, dtype=np.float64), unread).astype(np.float32))
        if sums[-1] == len(self.samples):
            raise KitError(
                f"none of the {len(self.samples)} images of the evaluation can be read",
                hint="check eval.dataset: dataset_root, data_dir, label_file",
            )
        return self.task.counts.from_array(sums[:-1]), predictions

    def worst(self, network: nn.Cell, predictions: Sequence[Prediction], most: int) -> list[Prediction]:
        """The predictions furthest from the truth, the worst first, of all ranks; `predictions` are those of this rank.

        Every rank must call it. Each predicts these few anew, so that none needs what others hold.
        """
        distances = np.zeros(len(self.samples), np.float32)
        share = loader.eval_share(len(self.samples), rank=self.world.rank, size=self.world.size)
        distances[share] = [self.task.distance(one.sample, one.value) for one in predictions]
        distances = self.world.all_reduce(distances)
        chosen = np.argsort(-distances, kind="stable")[: min(most, int((distances > 0).sum()))]
        return [one for batch in self.inference.batches(network, self.samples, chosen) for one in batch]

    def _predict(self, network: nn.Cell, share: NDArray[np.intp], alive: Callable[[], None]) -> Iterator[Prediction]:
        for predictions in self.inference.batches(network, self.samples, share):
            alive()
            for one in predictions:
                if one.error and str(one.sample.path) not in self.bad:
                    self.bad.add(str(one.sample.path))
                    self.warn(f"evaluation: {one.sample.path} counts as not read: {one.error}")
                yield one
