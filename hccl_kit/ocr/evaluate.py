"""How well the network reads a data set; every sample counts once, whatever the number of ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from mindspore import Tensor, nn

from hccl_kit.errors import KitError
from hccl_kit.ocr import recipes
from hccl_kit.ocr.config import Config
from hccl_kit.ocr.data import loader, samples, transforms
from hccl_kit.ocr.decode.ctc import Reading
from hccl_kit.ocr.metrics.words import WordCounts, compare
from hccl_kit.world import World


@dataclass(frozen=True, slots=True)
class Read:
    """One sample of an evaluation: what was read and what is written there."""

    path: str
    truth: str
    reading: Reading


class Evaluator:
    """Reads the data set of the section `eval` with a network; built once, used after any number of epochs.

    `alive` is called after every batch.
    """

    def __init__(
        self, config: Config, world: World, warn: Callable[[str], None], *, alive: Callable[[], None] = lambda: None
    ) -> None:
        self.config = config
        self.world = world
        self.warn = warn
        self.alive = alive
        self.charset = recipes.charset_of(config)
        self.decode = recipes.find(config).decode
        self.samples = self._with_truth(samples.read_label_file(config["eval"]["dataset"]))
        self.transform = transforms.pipeline(config["eval"]["dataset"]["transform_pipeline"], labels=False)
        self.bad: set[str] = set()

    def __call__(self, network: nn.Cell) -> tuple[WordCounts, list[Read]]:
        """The counts over all ranks, and what this rank read; every rank must call it."""
        reads = list(self._read(network))
        metric = self.config["metric"]
        total = WordCounts()
        for read in reads:
            truth, text = self._truth(read.truth), read.reading.text
            total += compare(text, truth, lower=metric["lower"], ignore_space=metric["ignore_space"])
        unread = np.float32(sum(read.path in self.bad for read in reads))
        sums = self.world.all_reduce(np.append(total.to_array(), unread))
        counts = WordCounts.from_array(sums[:-1])
        if sums[-1] == counts.words:
            raise KitError(
                f"none of the {int(counts.words)} images of the evaluation can be read",
                hint="look at eval.dataset: dataset_root, data_dir, label_file",
            )
        return counts, reads

    def _truth(self, text: str) -> str:
        """What a reading is compared with: with `filter_ood`, the characters that the dictionary holds."""
        metric = self.config["metric"]
        if not metric["filter_ood"]:
            return text
        return "".join(c for c in text if c == " " or (c.lower() if metric["lower"] else c) in self.charset.characters)

    def _with_truth(self, rows: list[samples.Sample]) -> list[samples.Sample]:
        """Words of which nothing is left to compare would count as right where nothing is read."""
        kept = [row for row in rows if self._truth(row.text).strip()]
        if not kept:
            raise KitError("no word of the evaluation has a character of the dictionary")
        if len(kept) < len(rows):
            self.warn(f"evaluation: {len(rows) - len(kept)} of {len(rows)} words are left out: no known character")
        return kept

    def _read(self, network: nn.Cell) -> Iterator[Read]:
        options = self.config["eval"]["loader"]
        size = options["batch_size"]
        share = loader.eval_share(len(self.samples), rank=self.world.rank, size=self.world.size)
        tasks = [share[start : start + size] for start in range(0, len(share), size)]
        make = partial(loader.eval_batch, self.samples, transform=self.transform, batch_size=size)
        network.set_train(False)
        for batch in loader.prefetch(tasks, make, options["num_workers"]):
            for sample, reason in batch.bad:
                if str(sample.path) not in self.bad:
                    self.bad.add(str(sample.path))
                    self.warn(f"evaluation: {sample.path} counts as not read: {reason}")
            readings = self.decode(network(Tensor(batch.images)).asnumpy(), self.charset)
            self.alive()
            for sample, reading in zip(batch.samples, readings, strict=False):  # the rest fills the batch up
                yield Read(str(sample.path), sample.text, reading)
