"""Which samples a rank sees in which step, and threads that prepare them ahead of the network.

Everything follows from (seed, epoch, step): a run that is resumed sees what the uninterrupted run would have seen.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from hccl_kit.errors import KitError
from hccl_kit.ocr.data.samples import BadSampleError, Sample
from hccl_kit.ocr.data.transforms import Transform

cv2.setNumThreads(0)  # the loader's own threads work side by side; OpenCV's would only get in their way

BLANK = np.zeros((32, 100, 3), np.uint8)
"""What stands in for an image that cannot be read."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What one rank feeds its network in one step.

    `images` (N, C, H, W) float32; `labels` (N, L) int32, filled up with zeros; `lengths` (N,) int32. The first `count`
    rows are samples, the rest repeats that keep the shape; `samples` names those. `bad` holds what was left out.
    """

    images: NDArray[np.float32]
    labels: NDArray[np.int32]
    lengths: NDArray[np.int32]
    samples: tuple[Sample, ...]
    bad: tuple[tuple[Sample, str], ...] = ()

    @property
    def count(self) -> int:
        """The number of rows that are samples."""
        return len(self.samples)


def epoch_order(count: int, *, seed: int, epoch: int, shuffle: bool) -> NDArray[np.intp]:
    """The order of all samples in an epoch, equal on all ranks."""
    return np.random.default_rng((seed, epoch)).permutation(count) if shuffle else np.arange(count)


def train_steps(order: NDArray[np.intp], *, batch_size: int, rank: int, size: int) -> NDArray[np.intp]:
    """The samples of this rank, steps x batch_size.

    Step k takes the k-th run of size x batch_size samples, and each rank its slice of it: the ranks of a job see
    together what one process with the joint batch size would see. What does not fill a step is left for other epochs.
    """
    joint = batch_size * size
    steps = len(order) // joint
    return order[: steps * joint].reshape(steps, size, batch_size)[:, rank]


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
    samples: Sequence[Sample], indices: NDArray[np.intp], *, transform: Transform, label_width: int
) -> Batch:
    """A full batch; the place of a bad sample is taken by a good one of the same batch."""
    good, bad = [], []
    for index in indices:
        try:
            good.append(transform(samples[index]))
        except BadSampleError as error:
            bad.append((samples[index], str(error)))
    if not good:
        raise KitError(f"no sample of a whole batch can be used; the first: {bad[0][0].path}: {bad[0][1]}")
    rows = [good[n % len(good)] for n in range(len(indices))]
    return _stack(rows, label_width, samples=tuple(rows), bad=tuple(bad))


def eval_batch(samples: Sequence[Sample], indices: NDArray[np.intp], *, transform: Transform, batch_size: int) -> Batch:
    """A batch filled up to `batch_size`; a bad image becomes a blank one, since its word still counts as unread."""
    rows, bad = [], []
    for index in indices:
        sample = samples[index]
        try:
            rows.append(transform(sample))
        except BadSampleError as error:
            bad.append((sample, str(error)))
            rows.append(transform(replace(sample, image=BLANK)))
    padded = rows + [rows[-1]] * (batch_size - len(rows))
    return _stack(padded, 0, samples=tuple(rows), bad=tuple(bad))


def _stack(
    rows: Sequence[Sample], label_width: int, *, samples: tuple[Sample, ...], bad: tuple[tuple[Sample, str], ...]
) -> Batch:
    shapes = {row.image.shape for row in rows if row.image is not None}
    if len(shapes) != 1:
        raise KitError(f"the images of a batch have different shapes {sorted(shapes)}; the pipeline lacks RecResizeImg")
    labels = np.zeros((len(rows), label_width), np.int32)
    for row, sample in zip(labels, rows, strict=True):
        row[: len(sample.label)] = sample.label[:label_width]
    lengths = np.array([len(row.label) for row in rows], np.int32)
    return Batch(np.stack([row.image for row in rows if row.image is not None]), labels, lengths, samples, bad)
