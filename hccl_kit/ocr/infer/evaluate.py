"""How well the network does on a data set; every sample counts once, whatever the number of ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from mindspore import nn

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.config import Config
from hccl_kit.ocr.data import loader
from hccl_kit.ocr.infer.inference import Finding, Inference
from hccl_kit.ocr.run.consistency import assert_one_data_set
from hccl_kit.ocr.tasks import recipes
from hccl_kit.ocr.tasks.task import Counts
from hccl_kit.runtime import World


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

    def __call__(self, network: nn.Cell, *, alive: Callable[[], None] = lambda: None) -> tuple[Counts, list[Finding]]:
        """The counts over all ranks, and what this rank found; every rank must call it. `alive` follows every batch."""
        judged = list(self._judge(network, alive))
        rows = [self.task.nothing, *(self.task.count(one.sample, one.found).to_array() for one in judged)]
        unread = sum(str(one.sample.path) in self.bad for one in judged)
        sums = self.world.all_reduce(np.append(np.sum(rows, axis=0, dtype=np.float64), unread).astype(np.float32))
        if sums[-1] == len(self.samples):
            raise KitError(
                f"none of the {len(self.samples)} images of the evaluation can be read",
                hint="look at eval.dataset: dataset_root, data_dir, label_file",
            )
        return self.task.total(sums[:-1]), judged

    def _judge(self, network: nn.Cell, alive: Callable[[], None]) -> Iterator[Finding]:
        share = loader.eval_share(len(self.samples), rank=self.world.rank, size=self.world.size)
        for findings in self.inference.batches(network, self.samples, share):
            alive()
            for one in findings:
                if one.fault and str(one.sample.path) not in self.bad:
                    self.bad.add(str(one.sample.path))
                    self.warn(f"evaluation: {one.sample.path} counts as not read: {one.fault}")
                yield one
