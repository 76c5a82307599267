"""The score of a network on a data set; every sample counts once, for any number of ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import NamedTuple

import numpy as np
from mindspore import nn
from numpy.typing import NDArray

from hccl_kit.base import progress
from hccl_kit.base.errors import KitError
from hccl_kit.ocr.config import Config
from hccl_kit.ocr.data import loader
from hccl_kit.ocr.drawing import Image
from hccl_kit.ocr.infer.inference import Inference, Prediction, Runner, in_order
from hccl_kit.ocr.metrics.counts import Counts
from hccl_kit.ocr.run.consistency import assert_one_data_set, assert_one_dictionary
from hccl_kit.ocr.tasks import recipes
from hccl_kit.runtime.join import World


class Scores(NamedTuple):
    """The counts over all ranks, and how far the prediction for each sample of this rank is from its truth."""

    counts: Counts
    distances: NDArray[np.float32]


class Evaluator:
    """Scores a network on the data set of the section `eval`; built once, used after any number of epochs."""

    def __init__(self, config: Config, world: World, warn: Callable[[str], None]) -> None:
        self.world = world
        self.warn = warn
        self.task = recipes.task(config)
        assert_one_dictionary(self.task.dictionary, world)
        self.samples = self.task.eval_samples(warn)
        assert_one_data_set("eval", self.samples, world)
        self.inference = Inference(self.task, config["eval"])
        self.bad: set[str] = set()

    def __call__(
        self,
        network: nn.Cell | Runner,
        *,
        quiet: bool = True,
        see: Callable[[Prediction], object] = lambda _: None,
        alive: Callable[[], None] = lambda: None,
    ) -> Scores:
        """The scores; no image is kept.

        Unless `quiet`, the progress is shown; `see` gets each prediction of this rank, and `alive` is called after
        every batch. Every rank must call it. Raises KitError if no image can be read.
        """
        share = loader.eval_share(len(self.samples), rank=self.world.rank, size=self.world.size)
        totals = self.task.counts().to_array().astype(np.float64)
        distances, unread = np.zeros(len(share), np.float32), 0
        predictions = self._predict(network, share, alive)
        with progress.track(predictions, len(share), "evaluating", quiet=quiet) as predicted:
            for prediction in predicted:
                counts = self.task.count(prediction.sample, prediction.value)
                totals += counts.to_array()
                distances[prediction.number] = self.task.distance(counts, prediction.value)
                unread += prediction.error is not None
                see(prediction)
        sums = self.world.all_reduce(np.append(totals, unread).astype(np.float32))
        if sums[-1] == len(self.samples):
            raise KitError(
                "ocr.evaluate.none-images-evaluation",
                "none of the {count} images of the evaluation can be read",
                fix="check eval.dataset: dataset_root, data_dir, label_file",
                count=len(self.samples),
            )
        return Scores(self.task.counts.from_array(sums[:-1]), distances)

    def picture_of_worst(self, network: nn.Cell | Runner, distances: NDArray[np.float32], most: int) -> Image | None:
        """The samples of all ranks that are furthest from their truth, the worst first; None if all are right.

        `distances` are those of this rank. Every rank must call it. Rank 0 predicts these few anew, so that no rank
        keeps images or sends them; the others get None.
        """
        joint = np.zeros(len(self.samples), np.float32)
        joint[loader.eval_share(len(self.samples), rank=self.world.rank, size=self.world.size)] = distances
        joint = self.world.all_reduce(joint)
        chosen = np.argsort(-joint, kind="stable")[: min(most, int((joint > 0).sum()))]
        if not len(chosen) or not self.world.is_main:
            return None
        predicted = chain.from_iterable(self.inference.batches(network, self.samples, chosen))
        return self.task.comparison(
            in_order((prediction.number, (prediction.sample, prediction.value)) for prediction in predicted)
        )

    def _predict(
        self, network: nn.Cell | Runner, share: NDArray[np.intp], alive: Callable[[], None]
    ) -> Iterator[Prediction]:
        for predictions in self.inference.batches(network, self.samples, share):
            alive()
            for prediction in predictions:
                path, error = prediction.sample.path, prediction.error
                if error and str(path) not in self.bad:
                    self.bad.add(str(path))
                    self.warn(f"evaluation: {path} cannot be used, a black image replaces it: {error}")
                yield prediction
