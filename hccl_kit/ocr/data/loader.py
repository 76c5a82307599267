"""Which samples a rank sees in which step, and threads that prepare them ahead of the network.

Everything follows from (seed, epoch, step): a run that is resumed sees what the uninterrupted run would have seen.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data.samples import BadSampleError, Sample
from hccl_kit.ocr.data.transforms import Transform, image_of

cv2.setNumThreads(0)  # the loader's own threads work side by side; OpenCV's would only get in their way

Targets = tuple[NDArray[Any], ...]
"""What the loss takes besides the prediction, each (N, ...)."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What one rank feeds its network in one step.

    `images` (N, C, H, W) float32. The first `count` rows are samples, the rest repeats that keep the shape; `samples`
    names those. `bad` holds what was left out.
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
    """The order of all samples in an epoch, equal on all ranks."""
    return np.random.default_rng((seed, epoch)).permutation(count) if shuffle else np.arange(count)


def alike(
    order: NDArray[np.intp], lengths: NDArray[np.float32], *, batch: int, seed: int, epoch: int
) -> NDArray[np.intp]:
    """The same order with samples of like length in each run of `batch`, and these runs in an order of their own.

    What does not fill a run is left for other epochs, as it would be without.
    """
    whole = order[: len(order) // batch * batch]
    runs = whole[np.argsort(lengths[whole], kind="stable")].reshape(-1, batch)
    return np.random.default_rng((seed, epoch, 1)).permutation(runs).ravel()


def stretches(count: int, low: float, high: float, *, seed: int, epoch: int) -> NDArray[np.float32]:
    """A factor between `low` and `high` for every sample in an epoch, drawn evenly by its logarithm."""
    drawn = np.random.default_rng((seed, epoch, 2)).uniform(np.log(low), np.log(high), count)
    return np.exp(drawn).astype(np.float32)


def assert_not_of_lines(options: Mapping[str, Any], task: str) -> None:
    """KitError where the options of a loader ask for what only lines that are read can have."""
    for key in ("bucket_widths", "stretch"):
        if options[key]:
            raise KitError(f"train.loader.{key} is for lines of text that are read, and this is a {task}")


def train_steps(order: NDArray[np.intp], *, batch_size: int, rank: int, size: int) -> NDArray[np.intp]:
    """The samples of this rank, steps x batch_size.

    Step k takes the k-th run of size x batch_size samples: the ranks of a job see together what one process with the
    joint batch size would see. They are dealt like cards, so that where a run goes from short to long lines no rank
    has the long ones and lets the others wait. What does not fill a step is left for other epochs.
    """
    joint = batch_size * size
    steps = len(order) // joint
    return order[: steps * joint].reshape(steps, batch_size, size)[..., rank]


def eval_share(count: int, *, rank: int, size: int) -> NDArray[np.intp]:
    """The samples of this rank in an evaluation: every sample on exactly one rank."""
    return np.arange(rank, count, size)


def prefetch(
    tasks: Sequence[NDArray[np.intp]], make: Callable[[NDArray[np.intp]], Batch], workers: int
) -> Iterator[Batch]:
    """The batches of `tasks` in order, prepared by `workers` threads, at most two batches ahead of each."""
    with ThreadPoolExecutor(workers, thread_name_prefix="data") as pool:
        waiting: deque[Future[Batch]] = deque()
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
) -> Batch:
    """A full batch; the place of a bad sample is taken by a good one of the same batch.

    `seed` is that of the run and the epoch: with the number of the sample it decides what is random in its transforms.
    """
    good, bad = [], []
    for index in indices:
        try:
            good.append(transform(samples[index], np.random.default_rng((*seed, int(index)))))
        except BadSampleError as error:
            bad.append((samples[index], str(error)))
    if not good:
        raise KitError(f"no sample of a whole batch can be used; the first: {bad[0][0].path}: {bad[0][1]}")
    rows = [good[n % len(good)] for n in range(len(indices))]
    return Batch(*collate(rows), tuple(rows), tuple(bad))


def eval_batch(
    samples: Sequence[Sample],
    indices: NDArray[np.intp],
    *,
    transform: Transform[Any],
    blank: Callable[[Any], Any],
    batch_size: int,
) -> Batch:
    """A batch filled up to `batch_size`; a bad image becomes a blank one: what is on it still counts as unread."""
    rows, bad = [], []
    generator = np.random.default_rng(0)
    for index in indices:
        sample = samples[index]
        try:
            rows.append(transform(sample, generator))
        except BadSampleError as error:
            bad.append((sample, str(error)))
            rows.append(transform(blank(sample), generator))
    padded = rows + [rows[-1]] * (batch_size - len(rows))
    return Batch(stack_images(padded), (), tuple(rows), tuple(bad))


def stack_images(rows: Sequence[Sample]) -> NDArray[np.float32]:
    """The images of a batch as one array; KitError where their shapes differ."""
    shapes = {image_of(row).shape for row in rows}
    if len(shapes) != 1:
        raise KitError(
            f"the images of a batch have different shapes {sorted(shapes)}",
            hint="the pipeline needs a step that makes them alike (RecResizeImg, RandomCropWithBBox), or batch_size: 1",
        )
    return np.stack([image_of(row) for row in rows])
