"""Prepared training samples that stay in memory, so that each image is decoded and resized once and not every epoch.

Only a sample whose preparation draws no random number is kept: it comes out the same in every epoch. Measured on two
cores: without, the thread that prepares samples takes a quarter of the time of a small network's steps.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from threading import Lock
from typing import Any, NamedTuple, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data.samples import BadSampleError, Sample
from hccl_kit.ocr.data.transforms import Transform, image_of

MEMORY = 256 << 20
"""Bytes of arrays that a rank keeps at most; further samples are prepared anew in every epoch."""


class KeptSamples:
    """The kept samples of one training set, by their numbers. Threads may share it."""

    def __init__(self, memory: int = MEMORY) -> None:
        self._left = memory
        self._kept: dict[int, Any] = {}
        self._lock = Lock()

    def sample(self, number: int, seed: tuple[int, ...], prepare: Callable[[int, np.random.Generator], Any]) -> Any:
        """Sample `number`: the kept one, or what `prepare` makes with a generator of `seed` and `number`."""
        if number in self._kept:
            return self._kept[number]
        generator = np.random.default_rng((*seed, number))
        untouched = generator.bit_generator.state
        made = prepare(number, generator)
        if generator.bit_generator.state == untouched:
            self._keep(number, made)
        return made

    def _keep(self, number: int, made: Any) -> None:
        values = (getattr(made, field.name) for field in fields(made))
        size = sum(value.nbytes for value in values if isinstance(value, np.ndarray))
        with self._lock:
            if size <= self._left and number not in self._kept:
                self._left -= size
                self._kept[number] = made


cv2.setNumThreads(0)  # the loader has threads of its own, with which OpenCV's would compete

S = TypeVar("S")
T = TypeVar("T")
Targets = tuple[NDArray[Any], ...]
"""All inputs of the loss except the prediction, each (N, ...)."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The input of one rank's network in one step.

    `images` (N, C, H, W) float32. The first `count` rows are those of `samples`, the rest repeats that keep the shape.
    `bad` holds samples that were left out, with the reason.
    """

    images: NDArray[np.float32]
    targets: Targets
    samples: tuple[Any, ...]
    bad: tuple[tuple[Any, str], ...] = ()

    @property
    def count(self) -> int:
        """The number of rows that are samples."""
        return len(self.samples)


def epoch_order(count: int, *, seed: int, epoch: int, shuffle: bool) -> NDArray[np.intp]:
    """The order of all samples in an epoch, the same on all ranks."""
    return np.random.default_rng((seed, epoch)).permutation(count) if shuffle else np.arange(count)


def length_buckets(
    order: NDArray[np.intp], lengths: NDArray[np.float32], *, batch: int, seed: int, epoch: int
) -> NDArray[np.intp]:
    """The same samples in batches of similar length, the batches in random order.

    Samples that do not fill a batch are left for other epochs, as without bucketing.
    """
    whole = order[: len(order) // batch * batch]
    batches = whole[np.argsort(lengths[whole], kind="stable")].reshape(-1, batch)
    return np.random.default_rng((seed, epoch, 1)).permutation(batches).ravel()


def stretches(count: int, low: float, high: float, *, seed: int, epoch: int) -> NDArray[np.float32]:
    """A factor between `low` and `high` for every sample in an epoch, log-uniform."""
    drawn = np.random.default_rng((seed, epoch, 2)).uniform(np.log(low), np.log(high), count)
    return np.exp(drawn).astype(np.float32)


def train_steps(order: NDArray[np.intp], *, batch_size: int, rank: int, size: int) -> NDArray[np.intp]:
    """The samples of this rank, shape (steps, batch_size).

    Step k takes the k-th size x batch_size samples of the order: together the ranks see what one process with the
    joint batch size would see. Samples are assigned in turn: if they are sorted by length, no rank has all the long
    ones while the others wait. Samples that do not fill a step are left for other epochs.
    """
    joint = batch_size * size
    steps = len(order) // joint
    return order[: steps * joint].reshape(steps, batch_size, size)[..., rank]


def eval_share(count: int, *, rank: int, size: int) -> NDArray[np.intp]:
    """The samples of this rank in an evaluation: every sample on exactly one rank."""
    return np.arange(rank, count, size)


def prefetch(tasks: Iterable[S], make: Callable[[S], T], workers: int) -> Iterator[T]:
    """The results of `make` for `tasks`, in order: by `workers` threads, with at most two pending tasks per thread."""
    with ThreadPoolExecutor(workers, thread_name_prefix="data") as pool:
        waiting: deque[Future[T]] = deque()
        remaining = iter(tasks)
        try:
            while True:
                while len(waiting) < 2 * workers and (task := next(remaining, None)) is not None:
                    waiting.append(pool.submit(make, task))
                if not waiting:
                    return
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def train_batch(
    samples: Sequence[Sample],
    indices: NDArray[np.intp],
    *,
    transform: Transform[Any],
    collate: Callable[[Sequence[Any]], tuple[NDArray[np.float32], Targets]],
    seed: tuple[int, int],
    kept: KeptSamples | None = None,
) -> Batch:
    """A full batch; a bad sample is replaced by a good one of the same batch.

    `seed` is that of the run and the epoch; with the number of the sample it seeds the transforms. `kept` are samples
    of former batches. Raises KitError if no sample can be used.
    """

    def prepare(index: int, generator: np.random.Generator) -> Any:
        return transform(replace(samples[index], others=samples), generator)

    kept = kept or KeptSamples(0)
    good, bad = [], []
    for index in map(int, indices):
        try:
            good.append(kept.sample(index, seed, prepare))
        except BadSampleError as error:
            bad.append((samples[index], str(error)))
    if not good:
        raise KitError(
            "ocr.loader.no-sample-whole",
            "no sample of a whole batch can be used; the first: {path}: {bad}",
            path=bad[0][0].path,
            bad=bad[0][1],
        )
    rows = [good[n % len(good)] for n in range(len(indices))]
    return Batch(*collate(rows), tuple(rows), tuple(bad))


class Row(NamedTuple):
    """A transformed sample of an evaluation; `error` says why a blank image replaces its own."""

    sample: Any
    error: str | None = None


def eval_rows(
    samples: Sequence[Sample],
    indices: NDArray[np.intp],
    *,
    transform: Transform[Any],
    blank: Callable[[Any], Any],
) -> list[Row]:
    """The samples in order; a bad image is replaced by a blank one, so that its texts count as missed."""
    generator = np.random.default_rng(0)
    rows = []
    for index in indices:
        sample = samples[index]
        try:
            rows.append(Row(transform(sample, generator)))
        except BadSampleError as error:
            rows.append(Row(transform(blank(sample), generator), str(error)))
    return rows


def stack_images(rows: Sequence[Sample]) -> NDArray[np.float32]:
    """The images of a batch as one array. Raises KitError if their shapes differ."""
    shapes = {image_of(row).shape for row in rows}
    if len(shapes) != 1:
        raise KitError(
            "ocr.loader.images-batch-different",
            "the images of a batch have different shapes {shapes}",
            fix="add a transform that gives them one size (RecResizeImg, RandomCropWithBBox), or set batch_size: 1",
            shapes=sorted(shapes),
        )
    return np.stack([image_of(row) for row in rows])
