"""How well the network does on a data set; every sample counts once, whatever the number of ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from mindspore import Tensor, nn

from hccl_kit.errors import KitError
from hccl_kit.ocr import recipes
from hccl_kit.ocr.config import Config
from hccl_kit.ocr.data import loader
from hccl_kit.ocr.data.pipeline import pipeline
from hccl_kit.ocr.task import Counts
from hccl_kit.world import World


@dataclass(frozen=True, slots=True)
class Judged:
    """One sample of an evaluation, with its truth, and what the network found there."""

    sample: Any
    found: Any


class Evaluator:
    """Judges a network by the data set of the section `eval`; built once, used after any number of epochs.

    `alive` is called after every batch.
    """

    def __init__(
        self, config: Config, world: World, warn: Callable[[str], None], *, alive: Callable[[], None] = lambda: None
    ) -> None:
        self.config = config
        self.world = world
        self.warn = warn
        self.alive = alive
        self.task = recipes.task(config)
        self.samples = self.task.eval_samples(warn)
        self.transform = pipeline(config["eval"]["dataset"]["transform_pipeline"], without=self.task.label_steps)
        self.bad: set[str] = set()

    def __call__(self, network: nn.Cell) -> tuple[Counts, list[Judged]]:
        """The counts over all ranks, and what this rank found; every rank must call it."""
        judged = list(self._judge(network))
        rows = [self.task.nothing, *(self.task.count(one.sample, one.found).to_array() for one in judged)]
        unread = sum(str(one.sample.path) in self.bad for one in judged)
        sums = self.world.all_reduce(np.append(np.sum(rows, axis=0, dtype=np.float64), unread).astype(np.float32))
        if sums[-1] == len(self.samples):
            raise KitError(
                f"none of the {len(self.samples)} images of the evaluation can be read",
                hint="look at eval.dataset: dataset_root, data_dir, label_file",
            )
        return self.task.total(sums[:-1]), judged

    def _judge(self, network: nn.Cell) -> Iterator[Judged]:
        options = self.config["eval"]["loader"]
        size = options["batch_size"]
        share = loader.eval_share(len(self.samples), rank=self.world.rank, size=self.world.size)
        tasks = [share[start : start + size] for start in range(0, len(share), size)]
        make = partial(
            loader.eval_batch, self.samples, transform=self.transform, blank=self.task.blank, batch_size=size
        )
        network.set_train(False)
        for batch in loader.prefetch(tasks, make, options["num_workers"]):
            for sample, reason in batch.bad:
                if str(sample.path) not in self.bad:
                    self.bad.add(str(sample.path))
                    self.warn(f"evaluation: {sample.path} counts as not read: {reason}")
            found = self.task.decode(network(Tensor(batch.images)).asnumpy(), batch.samples)
            self.alive()
            yield from map(Judged, batch.samples, found)
