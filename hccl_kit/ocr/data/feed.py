"""The training data of one rank: its usable samples, and the batches of any range of steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data import loader
from hccl_kit.ocr.data.loader import KeptSamples
from hccl_kit.ocr.data.pipeline import pipeline
from hccl_kit.ocr.data.transforms import ascending


class Feed:
    """The share of rank `rank` of `size` in the section `train`: `batch` samples per step.

    `samples` are the usable ones, `collate` makes a batch of transformed samples. With `lengths`, samples of similar
    length, after stretching, share a step. Raises KitError if the samples do not fill one step of all ranks.
    """

    def __init__(
        self,
        train: dict[str, Any],
        samples: Sequence[Any],
        collate: Callable[..., tuple[NDArray[np.float32], loader.Targets]],
        *,
        lengths: NDArray[np.float32] | None = None,
        batch: int,
        rank: int,
        size: int,
        warn: Callable[[str], None],
    ) -> None:
        self.loader = train["loader"]
        self.rank, self.size = rank, size
        self.warn = warn
        self.samples = samples
        self.lengths = lengths
        stretch = train["loader"]["stretch"]
        self.stretch = ascending("train.loader.stretch", stretch) if stretch else None
        self.batch = batch
        self.joint_batch = batch * size
        self.steps_per_epoch = len(self.samples) // self.joint_batch
        self.bad: set[str] = set()
        transform = pipeline(train["dataset"]["transform_pipeline"])
        kept = KeptSamples(0) if self.stretch else KeptSamples()  # a stretch is drawn outside the transforms
        self._make = partial(loader.train_batch, transform=transform, collate=collate, kept=kept)
        if not self.samples:
            raise KitError(
                "ocr.feed.no-sample-train",
                "no sample of train.dataset can be used",
                fix="the warnings above name the reasons",
            )
        if not self.steps_per_epoch:
            raise KitError(
                "ocr.feed.samples-too-few",
                "{count} samples are too few for one step of {joint_batch} ({size} ranks x {batch})",
                fix="set train.loader.batch_size lower",
                count=len(self.samples),
                joint_batch=self.joint_batch,
                size=size,
                batch=batch,
            )

    def batches(self, first: int, last: int, *, seed: int) -> Iterator[tuple[int, loader.Batch]]:
        """The batches of steps `first` to `last` - 1, each with its step; the order depends on seed and epoch only."""
        while first < last:
            epoch, start = divmod(first, self.steps_per_epoch)
            order = loader.epoch_order(len(self.samples), seed=seed, epoch=epoch, shuffle=self.loader["shuffle"])
            samples, lengths = self.samples, self.lengths
            if self.stretch:
                factors = loader.stretches(len(samples), *self.stretch, seed=seed, epoch=epoch)
                samples = _Stretched(samples, factors)
                lengths = None if lengths is None else lengths * factors
            if lengths is not None:
                order = loader.length_buckets(order, lengths, batch=self.joint_batch, seed=seed, epoch=epoch)
            steps = loader.train_steps(order, batch_size=self.batch, rank=self.rank, size=self.size)
            rest = list(steps[start : start + last - first])
            make = partial(self._make, samples, seed=(seed, epoch))
            for batch in loader.prefetch(rest, make, self.loader["num_workers"]):
                self._warn_about_bad(batch)
                yield first, batch
                first += 1

    def _warn_about_bad(self, batch: loader.Batch) -> None:
        for sample, reason in batch.bad:
            if str(sample.path) not in self.bad:
                self.bad.add(str(sample.path))
                self.warn(f"{sample.path} is left out: {reason}")


class _Stretched(Sequence[Any]):
    """Lines with their stretch factors."""

    def __init__(self, lines: Sequence[Any], factors: NDArray[np.float32]) -> None:
        self.lines, self.factors = lines, factors

    def __len__(self) -> int:
        return len(self.lines)

    def __getitem__(self, index: Any) -> Any:
        return replace(self.lines[index], stretch=float(self.factors[index]))
