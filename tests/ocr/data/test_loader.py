"""The assignment of samples to ranks, and the prefetch threads: the invariants of distributed training."""

import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data import loader
from hccl_kit.ocr.data.loader import Batch, KeptSamples, Targets
from hccl_kit.ocr.data.samples import BadSampleError, TextLine
from hccl_kit.ocr.data.transforms import Transform
from tests.waiting import wait_until

counts, sizes, batches, seeds = st.integers(0, 200), st.integers(1, 8), st.integers(1, 7), st.integers(0, 2**32 - 1)


@given(counts, sizes, batches, seeds)
def test_the_ranks_together_get_the_samples_of_one_process(count: int, size: int, batch: int, seed: int) -> None:
    order = loader.epoch_order(count, seed=seed, epoch=0, shuffle=True)
    alone = loader.train_steps(order, batch_size=batch * size, rank=0, size=1)
    shares = [loader.train_steps(order, batch_size=batch, rank=rank, size=size) for rank in range(size)]
    assert len({share.shape for share in shares}) == 1
    np.testing.assert_array_equal(np.stack(shares, axis=-1).reshape(alone.shape), alone)


@given(sizes, batches)
def test_long_lines_are_distributed_evenly_over_the_ranks(size: int, batch: int) -> None:
    shares = [loader.train_steps(np.arange(3 * size * batch), batch_size=batch, rank=r, size=size) for r in range(size)]
    longest = np.array([share.max(axis=1) for share in shares])
    assert (longest.max(axis=0) - longest.min(axis=0) == size - 1).all()


@given(counts, sizes)
def test_an_evaluation_reads_every_sample_once(count: int, size: int) -> None:
    shares = [loader.eval_share(count, rank=rank, size=size) for rank in range(size)]
    assert sorted(np.concatenate(shares).tolist()) == list(range(count))
    lengths = [len(share) for share in shares]
    assert max(lengths) - min(lengths) <= 1


@given(counts, seeds, st.integers(0, 1000))
def test_the_order_is_a_permutation_that_depends_only_on_seed_and_epoch(count: int, seed: int, epoch: int) -> None:
    one, two = (loader.epoch_order(count, seed=seed, epoch=epoch, shuffle=True) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    assert sorted(one.tolist()) == list(range(count))


def test_unshuffled_samples_stay_in_order() -> None:
    assert loader.epoch_order(5, seed=1, epoch=2, shuffle=False).tolist() == [0, 1, 2, 3, 4]


def batch_of(task: NDArray[np.intp]) -> Batch:
    """A batch that identifies its task."""
    return Batch(task.astype(np.float32), (), ())


def threads_left() -> list[str]:
    """Names of the loader's threads that are still alive after a short grace period."""

    def found() -> list[str]:
        return [thread.name for thread in threading.enumerate() if thread.name.startswith("data")]

    wait_until(lambda: not found(), 5)
    return found()


@given(st.integers(0, 30), st.integers(1, 4))
@settings(max_examples=30, deadline=None)
def test_prefetch_keeps_the_order(count: int, workers: int) -> None:
    def make(task: NDArray[np.intp]) -> Batch:
        time.sleep(0.001 * (int(task[0]) % 3))  # a later task may finish first
        return batch_of(task)

    tasks = [np.array([n]) for n in range(count)]
    assert [int(batch.images[0]) for batch in loader.prefetch(tasks, make, workers)] == list(range(count))
    assert threads_left() == []


@pytest.mark.parametrize("workers", [1, 3])
def test_prefetch_is_at_most_two_batches_per_worker_ahead(workers: int) -> None:
    begun: list[int] = []

    def make(task: NDArray[np.intp]) -> Batch:
        begun.append(int(task[0]))
        return batch_of(task)

    for n, _ in enumerate(loader.prefetch([np.array([n]) for n in range(50)], make, workers)):
        time.sleep(0.001)
        assert len(begun) <= n + 2 * workers


@pytest.mark.parametrize("workers", [1, 3])
def test_prefetch_raises_an_error_in_place_of_its_batch(workers: int) -> None:
    def make(task: NDArray[np.intp]) -> Batch:
        if task[0] == 4:
            raise KitError("the fifth batch")
        return batch_of(task)

    seen = []
    with pytest.raises(KitError, match="the fifth batch"):
        for batch in loader.prefetch([np.array([n]) for n in range(20)], make, workers):
            seen.append(int(batch.images[0]))
    assert seen == [0, 1, 2, 3]
    assert threads_left() == []


def test_an_abandoned_prefetch_leaves_no_thread() -> None:
    batches_made = loader.prefetch([np.array([n]) for n in range(1000)], batch_of, 2)
    next(batches_made)
    assert [thread for thread in threading.enumerate() if thread.name.startswith("data")]
    batches_made.close()  # type: ignore[attr-defined]  # annotated as an iterator, but it is a generator
    assert threads_left() == []


@given(st.lists(st.integers(1, 40), min_size=4, max_size=60), st.integers(1, 8), st.integers(0, 9))
def test_samples_of_similar_length_share_a_run(values: list[int], batch: int, epoch: int) -> None:
    """The samples are the same as without grouping, and the length ranges of two runs do not overlap."""
    lengths = np.array(values, np.float32)
    order = loader.epoch_order(len(values), seed=5, epoch=epoch, shuffle=True)
    found = loader.length_buckets(order, lengths, batch=batch, seed=5, epoch=epoch)
    assert sorted(found) == sorted(order[: len(order) // batch * batch])
    runs = sorted((int(lengths[run].min()), int(lengths[run].max())) for run in found.reshape(-1, batch))
    assert all(before[1] <= after[0] for before, after in pairwise(runs))
    np.testing.assert_array_equal(found, loader.length_buckets(order, lengths, batch=batch, seed=5, epoch=epoch))


def test_runs_are_not_ordered_by_length() -> None:
    lengths = np.arange(400, dtype=np.float32)
    found = [
        loader.length_buckets(np.arange(400), lengths, batch=4, seed=1, epoch=epoch)[::4].tolist() for epoch in (0, 1)
    ]
    assert found[0] != sorted(found[0])
    assert found[0] != found[1]


SAMPLES = [TextLine(Path(f"{n}.png"), text=f"t{n}") for n in range(6)]
INDICES = np.arange(6)


def transform_without(*bad: int) -> Transform[TextLine]:
    def apply(sample: TextLine, _: np.random.Generator) -> TextLine:
        number = int(sample.path.stem)
        if number in bad and sample.image is None:
            raise BadSampleError(f"number {number} is bad")
        image = np.full((3, 2, 4), number if sample.image is None else -1, np.float32)
        return replace(sample, image=image, label=(number, 9))

    return apply


def train(*bad: int, indices: NDArray[np.intp] = INDICES) -> Batch:
    return loader.train_batch(SAMPLES, indices, transform=transform_without(*bad), collate=numbers_of, seed=(0, 0))


def numbers_of(rows: Sequence[TextLine]) -> tuple[NDArray[np.float32], Targets]:
    return loader.stack_images(rows), (np.array([row.label for row in rows], np.int32),)


def blank(sample: TextLine) -> TextLine:
    return replace(sample, image=np.zeros((1, 1, 3), np.uint8))


def test_a_training_batch_holds_images_and_targets() -> None:
    batch = train(indices=np.array([4, 2]))
    assert batch.images.shape == (2, 3, 2, 4)
    assert batch.images.dtype == np.float32
    assert batch.images[:, 0, 0, 0].tolist() == [4, 2]
    [labels] = batch.targets
    assert labels.tolist() == [[4, 9], [2, 9]]
    assert [sample.path.name for sample in batch.samples] == ["4.png", "2.png"]
    assert batch.bad == ()


@given(st.sets(st.integers(0, 5), max_size=5))
def test_bad_samples_are_replaced_by_good_ones(bad: set[int]) -> None:
    batch = train(*bad)
    good = [n for n in range(6) if n not in bad]
    assert batch.count == 6
    assert batch.images[: len(good), 0, 0, 0].tolist() == good
    assert set(batch.images[:, 0, 0, 0].tolist()) == set(good)
    assert [int(sample.path.stem) for sample in batch.samples] == batch.targets[0][:, 0].tolist()
    assert {sample.path.name: reason for sample, reason in batch.bad} == {f"{n}.png": f"number {n} is bad" for n in bad}


def test_a_training_batch_without_any_good_sample_names_the_first() -> None:
    with pytest.raises(KitError, match=r"no sample of a whole batch .* 0\.png: number 0 is bad"):
        train(0, 1, 2, 3, 4, 5)


@given(st.sets(st.integers(0, 5)))
def test_an_evaluation_keeps_every_sample_at_its_position(bad: set[int]) -> None:
    rows = loader.eval_rows(SAMPLES, INDICES, transform=transform_without(*bad), blank=blank)
    assert [row.sample.text for row in rows] == [sample.text for sample in SAMPLES]
    assert loader.stack_images([row.sample for row in rows])[:, 0, 0, 0].tolist() == [
        -1 if n in bad else n for n in range(6)
    ]
    assert [row.error for row in rows] == [f"number {n} is bad" if n in bad else None for n in range(6)]


def test_the_error_about_different_shapes_names_the_missing_transform() -> None:
    def grow(sample: TextLine, _: np.random.Generator) -> TextLine:
        return replace(sample, image=np.zeros((3, 2, int(sample.path.stem) + 1), np.float32))

    with pytest.raises(KitError, match=r"shapes \[\(3, 2, 1\), \(3, 2, 2\)\]") as caught:
        loader.train_batch(SAMPLES, np.array([0, 1]), transform=grow, collate=numbers_of, seed=(0, 0))
    assert "RecResizeImg" in str(caught.value.hint)


def test_randomness_depends_only_on_seed_epoch_and_sample() -> None:
    def draw(sample: TextLine, generator: np.random.Generator) -> TextLine:
        return replace(sample, image=generator.random((1, 1, 3)))

    def images(indices: list[int], seed: tuple[int, int]) -> list[float]:
        batch = loader.train_batch(SAMPLES, np.array(indices), transform=draw, collate=numbers_of, seed=seed)
        return [float(image.flat[0]) for image in batch.images]

    assert images([1, 2], (7, 0)) == images([2, 1], (7, 0))[::-1]
    assert len({*images([1, 2], (7, 0)), *images([1, 2], (7, 1)), *images([1, 2], (8, 0))}) == 6


BYTES = 24
LINE = TextLine(Path("a.png"))


class Prepared:
    """Counts how often a sample is prepared; with `draws`, the preparation uses a random number."""

    def __init__(self, *, draws: bool = False) -> None:
        self.draws = draws
        self.times = 0

    def __call__(self, _: int, generator: np.random.Generator) -> TextLine:
        self.times += 1
        value = generator.random() if self.draws else 1.0
        return replace(LINE, image=np.full((3, 1, 2), value, np.float32))


def test_a_sample_is_prepared_once() -> None:
    kept, prepare = KeptSamples(), Prepared()
    first, second = (kept.sample(4, (7, epoch), prepare) for epoch in range(2))
    assert first is second
    assert prepare.times == 1
    assert kept.sample(5, (7, 0), prepare) is not first


def test_a_random_sample_differs_in_every_epoch() -> None:
    kept, prepare = KeptSamples(), Prepared(draws=True)
    values = [kept.sample(4, (7, epoch), prepare).image.flat[0] for epoch in (0, 1, 0)]
    assert prepare.times == 3
    assert values[0] == values[2] != values[1]


@pytest.mark.parametrize("room", [0, 1, 3])
def test_the_memory_is_limited(room: int) -> None:
    kept, prepare = KeptSamples(room * BYTES + BYTES - 1), Prepared()
    for _ in range(2):
        for number in range(5):
            kept.sample(number, (), prepare)
    assert prepare.times == 5 + 5 - room


def test_a_bad_sample_stays_bad() -> None:
    def fail(_: int, __: np.random.Generator) -> TextLine:
        raise BadSampleError("cut off")

    kept = KeptSamples()
    for _ in range(2):
        with pytest.raises(BadSampleError):
            kept.sample(0, (0, 0), fail)
