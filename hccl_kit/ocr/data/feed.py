"""The training data of one rank: usable samples, and the batches of any range of steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any

from hccl_kit.errors import KitError
from hccl_kit.ocr.data import loader, samples, transforms


class Feed:
    """What rank `rank` of `size` sees of the section `train`.

    `label` holds the options of RecCTCLabelEncode, `steps` the length of the sequence that the labels must fit.
    KitError where the samples do not fill one step of all ranks.
    """

    def __init__(
        self,
        train: dict[str, Any],
        label: dict[str, Any],
        *,
        steps: int,
        rank: int,
        size: int,
        warn: Callable[[str], None],
    ) -> None:
        self.loader = train["loader"]
        self.rank, self.size = rank, size
        self.warn = warn
        self.samples, self.left_out = _usable(train["dataset"], label, steps, warn)
        self.joint_batch = self.loader["batch_size"] * size
        self.steps_per_epoch = len(self.samples) // self.joint_batch
        self.bad: set[str] = set()
        transform = transforms.pipeline(train["dataset"]["transform_pipeline"])
        width = label.get("max_text_len", transforms.MAX_TEXT_LEN)
        self._make = partial(loader.train_batch, self.samples, transform=transform, label_width=width)
        if not self.steps_per_epoch:
            raise KitError(
                f"{len(self.samples)} samples make no step of {self.joint_batch} ({size} ranks x batch size)",
                hint="set train.loader.batch_size lower",
            )

    def batches(self, first: int, last: int, *, seed: int) -> Iterator[tuple[int, loader.Batch]]:
        """The batches of steps `first` to `last`, each with its step, in an order that only the seed decides."""
        while first < last:
            epoch, start = divmod(first, self.steps_per_epoch)
            order = loader.epoch_order(len(self.samples), seed=seed, epoch=epoch, shuffle=self.loader["shuffle"])
            steps = loader.train_steps(order, batch_size=self.loader["batch_size"], rank=self.rank, size=self.size)
            rest = list(steps[start : start + last - first])
            for batch in loader.prefetch(rest, self._make, self.loader["num_workers"]):
                self._name_bad(batch)
                yield first, batch
                first += 1

    def _name_bad(self, batch: loader.Batch) -> None:
        for sample, reason in batch.bad:
            if str(sample.path) not in self.bad:
                self.bad.add(str(sample.path))
                self.warn(f"{sample.path} is left out: {reason}")


def _usable(
    dataset: dict[str, Any], label: dict[str, Any], steps: int, warn: Callable[[str], None]
) -> tuple[list[samples.Sample], int]:
    """The samples whose label the network can learn, and the number of others; the first ones are named."""
    rows = samples.read_label_file(dataset)
    encode = transforms.encode_label(**label)
    usable, bad = [], []
    for row in rows:
        try:
            _assert_fits(encode(row).label, steps)
            usable.append(row)
        except samples.BadSampleError as error:
            bad.append(f"{row.path}: {error}")
    if bad:
        warn(f"{len(bad)} of {len(rows)} labels are left out: {'; '.join(bad[:3])}")
    _name_unknown(usable, label, warn)
    return usable, len(bad)


def _name_unknown(rows: list[samples.Sample], label: dict[str, Any], warn: Callable[[str], None]) -> None:
    """Characters that the dictionary lacks vanish from labels, as in MindOCR; here it is said."""
    known = transforms.label_charset(**label)
    lower = label.get("lower", True)
    unknown = Counter(c for row in rows for c in (row.text.lower() if lower else row.text) if c not in known)
    if unknown:
        shown = " ".join(f"{character!r} ({count})" for character, count in unknown.most_common(5))
        warn(f"{sum(unknown.values())} characters of the labels are not in the dictionary and are left out: {shown}")


def _assert_fits(label: tuple[int, ...], steps: int) -> None:
    """CTC needs a step for every character and one between two that are equal; otherwise the loss is infinite."""
    needed = len(label) + sum(one == other for one, other in pairwise(label))
    if needed > steps:
        raise samples.BadSampleError(f"the label needs {needed} steps, the network gives {steps}")
