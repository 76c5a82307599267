"""The training data of a rank: every range of steps gives the same batches."""

from collections.abc import Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data.feed import Feed
from hccl_kit.ocr.data.lines.line_sources import read_lines
from hccl_kit.ocr.data.loader import Batch, Targets, stack_images
from hccl_kit.ocr.data.samples import TextLine
from tests.ocr.data.images import dataset

COUNT = 23
TEXTS = [f"w{n}" for n in range(COUNT)]
Steps = list[tuple[int, Batch]]


class Source:
    """A data set of COUNT images and the warnings of the feeds over it."""

    def __init__(self, root: Path, texts: list[str]) -> None:
        self.dataset = dataset(root, texts)
        self.warnings: list[str] = []

    def feed(self, *, rank: int = 0, size: int = 1, lengths: NDArray[np.float32] | None = None, **loader: Any) -> Feed:
        options = {"batch_size": 4, "shuffle": True, "num_workers": 2, "stretch": None, **loader}
        train = {"dataset": self.dataset, "loader": options}
        rows = read_lines(self.dataset)
        share = {"batch": options["batch_size"], "rank": rank, "size": size}
        return Feed(train, rows, labels, lengths=lengths, warn=self.warnings.append, **share)


def labels(rows: Sequence[TextLine]) -> tuple[NDArray[np.float32], Targets]:
    return stack_images(rows), (np.array([row.label[1] for row in rows]),)


@pytest.fixture
def source(tmp_path: Path) -> Source:
    return Source(tmp_path, TEXTS)


def assert_equal(one: Steps, two: Steps) -> None:
    assert [step for step, _ in one] == [step for step, _ in two]
    for (_, a), (_, b) in zip(one, two, strict=True):
        np.testing.assert_array_equal(a.images, b.images)
        np.testing.assert_array_equal(a.targets[0], b.targets[0])
        assert [sample.path for sample in a.samples] == [sample.path for sample in b.samples]


@pytest.mark.parametrize("stop", [1, 4, 5, 7, 10, 12])
def test_a_resumed_run_gets_the_batches_of_the_uninterrupted_one(source: Source, stop: int) -> None:
    """Five steps per epoch: the interruption is inside an epoch, at its end and after it."""
    feed = source.feed()
    assert feed.steps_per_epoch == 5
    whole = list(feed.batches(0, 13, seed=7))
    assert [step for step, _ in whole] == list(range(13))
    parts = chain(source.feed().batches(0, stop, seed=7), source.feed().batches(stop, 13, seed=7))
    assert_equal(list(parts), whole)


def test_the_order_differs_between_epochs_and_seeds(source: Source) -> None:
    feed = source.feed()
    names = [[sample.path.name for sample in batch.samples] for _, batch in feed.batches(0, 10, seed=7)]
    assert len(set(chain(*names[:5]))) == 20
    assert names[:5] != names[5:]
    other = [[sample.path.name for sample in batch.samples] for _, batch in feed.batches(0, 5, seed=8)]
    assert names[:5] != other


def test_the_ranks_share_each_step_of_one_process(source: Source) -> None:
    alone = source.feed(batch_size=4).batches(0, 8, seed=7)
    ranks = [source.feed(batch_size=2, rank=rank, size=2).batches(0, 8, seed=7) for rank in range(2)]
    for (step, joint), (_, first), (_, second) in zip(alone, *ranks, strict=True):
        assert [*first.samples, *second.samples] != []
        dealt = np.stack([first.images, second.images], axis=1).reshape(joint.images.shape)
        np.testing.assert_array_equal(dealt, joint.images, str(step))


def test_what_is_random_depends_only_on_sample_and_epoch(source: Source) -> None:
    """They do not depend on the ranks, the threads or the step from which a run resumes."""
    decode, *rest = source.dataset["transform_pipeline"]
    source.dataset["transform_pipeline"] = [decode, {"SVTRDeterioration": {"variance": 20, "p": 1.0}}, *rest]
    whole = list(source.feed().batches(0, 10, seed=7))
    first, second = (
        {sample.path: sample.image for _, batch in epoch for sample in batch.samples}
        for epoch in (whole[:5], whole[5:])
    )
    assert all((first[path] != second[path]).any() for path in first.keys() & second.keys())
    assert_equal(list(source.feed(num_workers=1).batches(3, 10, seed=7)), whole[3:])
    ranks = [source.feed(batch_size=2, rank=rank, size=2).batches(0, 10, seed=7) for rank in range(2)]
    for (_, joint), (_, first), (_, second) in zip(whole, *ranks, strict=True):
        dealt = np.stack([first.images, second.images], axis=1).reshape(joint.images.shape)
        np.testing.assert_array_equal(dealt, joint.images)


def test_too_few_samples_for_one_step_are_refused(source: Source) -> None:
    assert source.feed(batch_size=COUNT).steps_per_epoch == 1
    with pytest.raises(KitError, match=r"23 samples are too few for one step of 24 \(3 ranks x 8\)") as caught:
        source.feed(batch_size=8, size=3)
    assert caught.value.hint == "set train.loader.batch_size lower"


def test_that_no_sample_is_left_is_not_blamed_on_the_batch(source: Source) -> None:
    train = {"dataset": source.dataset, "loader": {"stretch": None}}
    with pytest.raises(KitError, match=r"no sample of train\.dataset can be used") as caught:
        Feed(train, [], labels, batch=4, rank=0, size=1, warn=source.warnings.append)
    assert caught.value.hint == "the warnings above name the reasons"


def test_a_damaged_image_is_named_once_and_replaced(source: Source) -> None:
    source_folder = Path(source.dataset["dataset_root"]) / "images"
    (source_folder / "3.png").write_bytes(b"damaged")
    feed = source.feed(batch_size=23, shuffle=False)
    batches = [batch for _, batch in feed.batches(0, 3, seed=1)]
    assert [batch.count for batch in batches] == [23, 23, 23]
    assert all(sample.path.name != "3.png" for batch in batches for sample in batch.samples)
    assert len(feed.bad) == 1
    assert len(source.warnings) == 1
    assert "3.png is left out: not an image" in source.warnings[0]


def test_each_epoch_stretches_lines_by_different_factors(source: Source) -> None:
    """A resumed run uses the same factors."""
    feed = source.feed(stretch=[0.5, 2.0])
    factors = [[line.stretch for line in batch.samples] for _, batch in feed.batches(0, 10, seed=7)]
    assert 0.5 <= min(chain(*factors)) < 0.7
    assert 1.4 < max(chain(*factors)) <= 2
    assert len(set(chain(*factors))) == 40
    again = [
        [line.stretch for line in batch.samples] for _, batch in source.feed(stretch=[0.5, 2.0]).batches(3, 10, seed=7)
    ]
    assert again == factors[3:]
    plain = {line.stretch for _, batch in source.feed().batches(0, 5, seed=7) for line in batch.samples}
    assert plain == {1.0}


def test_lines_are_grouped_by_their_length_after_stretching(source: Source) -> None:
    """Otherwise a line that becomes long would make its whole batch wide."""
    lengths = np.linspace(1, 1.5, COUNT, dtype=np.float32)
    numbers = {f"{n}.png": n for n in range(COUNT)}
    feed = source.feed(stretch=[0.5, 2.0], lengths=lengths, batch_size=4)
    spans = []
    for _, batch in feed.batches(0, 5, seed=7):
        widths = [lengths[numbers[line.path.name]] * line.stretch for line in batch.samples]
        spans.append((min(widths), max(widths)))
    spans.sort()
    assert all(high <= low for (_, high), (low, _) in pairwise(spans))


def test_a_stretch_range_in_the_wrong_order_is_refused(source: Source) -> None:
    with pytest.raises(KitError, match=r"train\.loader\.stretch is \[2, 1\]; accepted: \[lowest, highest\]"):
        source.feed(stretch=[2, 1])


def test_an_image_is_read_once_unless_its_preparation_is_random(source: Source) -> None:
    def second_epoch(**loader: Any) -> list[tuple[Any, str]]:
        feed = source.feed(**loader)
        list(feed.batches(0, 5, seed=1))
        for line in feed.samples:
            line.path.rename(line.path.with_suffix(".gone"))
        try:
            return [bad for _, batch in feed.batches(5, 10, seed=1) for bad in batch.bad]
        finally:
            for line in feed.samples:
                line.path.with_suffix(".gone").rename(line.path)

    assert len(second_epoch()) <= COUNT % 4  # samples of no step of the first epoch
    with pytest.raises(KitError, match="no sample of a whole batch"):
        second_epoch(stretch=[0.5, 2.0])
