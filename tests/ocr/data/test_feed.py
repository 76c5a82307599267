"""The training data of a rank: what can be used, and that every range of steps gives the same batches."""

from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hccl_kit.errors import KitError
from hccl_kit.ocr.data.feed import Feed
from hccl_kit.ocr.data.loader import Batch
from tests.ocr.data.images import dataset

COUNT = 23
TEXTS = [f"w{n}" for n in range(COUNT)]
Steps = list[tuple[int, Batch]]


class Source:
    """A data set of COUNT images and the warnings of the feeds over it."""

    def __init__(self, root: Path, texts: list[str]) -> None:
        self.dataset = dataset(root, texts)
        self.warnings: list[str] = []

    def feed(self, *, rank: int = 0, size: int = 1, steps: int = 8, **loader: Any) -> Feed:
        options = {"batch_size": 4, "shuffle": True, "num_workers": 2, **loader}
        train = {"dataset": self.dataset, "loader": options}
        return Feed(train, {"max_text_len": 8}, steps=steps, rank=rank, size=size, warn=self.warnings.append)


@pytest.fixture
def source(tmp_path: Path) -> Source:
    return Source(tmp_path, TEXTS)


def assert_equal(one: Steps, two: Steps) -> None:
    assert [step for step, _ in one] == [step for step, _ in two]
    for (_, a), (_, b) in zip(one, two, strict=True):
        np.testing.assert_array_equal(a.images, b.images)
        np.testing.assert_array_equal(a.labels, b.labels)
        assert [sample.path for sample in a.samples] == [sample.path for sample in b.samples]


@pytest.mark.parametrize("stop", [1, 4, 5, 7, 10, 12])
def test_a_resumed_run_sees_what_the_uninterrupted_one_sees(source: Source, stop: int) -> None:
    """Five steps an epoch: the stop is inside an epoch, at its end and after it."""
    feed = source.feed()
    assert feed.steps_per_epoch == 5
    whole = list(feed.batches(0, 13, seed=7))
    assert [step for step, _ in whole] == list(range(13))
    parts = chain(source.feed().batches(0, stop, seed=7), source.feed().batches(stop, 13, seed=7))
    assert_equal(list(parts), whole)


def test_epochs_and_seeds_have_their_own_order(source: Source) -> None:
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
        np.testing.assert_array_equal(np.concatenate([first.images, second.images]), joint.images, str(step))


def test_samples_that_fill_no_step_are_refused(source: Source) -> None:
    assert source.feed(batch_size=COUNT).steps_per_epoch == 1
    with pytest.raises(KitError, match=r"23 samples make no step of 24 \(3 ranks x batch size\)") as caught:
        source.feed(batch_size=8, size=3)
    assert caught.value.hint == "set train.loader.batch_size lower"


def test_labels_that_cannot_be_learnt_are_counted_and_named(tmp_path: Path) -> None:
    source = Source(tmp_path, ["good", "...", "waytoolong", "aaaaa", "abcdefgh", "fine"])
    feed = source.feed(batch_size=1)
    assert [sample.text for sample in feed.samples] == ["good", "abcdefgh", "fine"]
    assert feed.left_out == 3
    [warning] = source.warnings
    assert warning.startswith("3 of 6 labels are left out: ")
    assert "no character of '...' is in the dictionary" in warning
    assert "'waytoolong' has 10 characters, max_text_len is 8" in warning
    assert "the label needs 9 steps, the network gives 8" in warning


def test_characters_that_the_dictionary_lacks_are_counted(tmp_path: Path) -> None:
    source = Source(tmp_path, ["a-b-c", "A!", "fine"])
    assert source.feed(batch_size=1).left_out == 0
    [warning] = source.warnings
    assert warning.startswith("3 characters of the labels are not in the dictionary")
    assert warning.endswith("'-' (2) '!' (1)")


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
