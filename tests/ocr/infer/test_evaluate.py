"""Evaluation: every word counts once over any number of ranks, and a black image replaces one that cannot be read."""

import gc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from mindspore import Tensor, nn, ops
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.ocr import config, drawing
from hccl_kit.ocr.charset import ALPHANUMERIC
from hccl_kit.ocr.config import Config
from hccl_kit.ocr.data.samples import TextLine
from hccl_kit.ocr.drawing import Row
from hccl_kit.ocr.infer.evaluate import Evaluator
from hccl_kit.ocr.infer.inference import Prediction
from hccl_kit.ocr.metrics.lines import WordCounts
from hccl_kit.runtime.join import World
from tests.ocr.data.images import dataset
from tests.ocr.run_tool import CONFIG
from tests.ocr.tiny import ALONE

COUNT = 13
PIPELINE = [{"DecodeImage": None}, {"RecResizeImg": {"image_shape": [32, 100], "padding": False}}, {"ToCHWImage": None}]


class Shades(nn.Cell):
    """A reader that reads an image of gray value n as character n of the dictionary."""

    def construct(self, images: Tensor) -> Tensor:
        shade = ops.reduce_mean(ops.cast(images, Tensor(np.float32(0)).dtype), (1, 2, 3))
        return ops.exp(-ops.square(ops.reshape(shade, (-1, 1, 1)) - ops.arange(37).reshape((1, 1, 37))))


class Share(World):
    """A single rank in this process: its sums are those of its share."""

    def all_reduce(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        return values

    def gather(self, row: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.stack([row] * self.size)


def section(root: Path, texts: list[str], *overrides: str) -> Config:
    loaded = config.load(CONFIG, ["eval.loader.batch_size=4", *overrides])
    rows = {**dataset(root, texts), "transform_pipeline": PIPELINE}
    return replace(loaded, values={**loaded.values, "eval": {**loaded["eval"], "dataset": rows}})


NETWORK = Shades()


def evaluate(made: Config, world: World = ALONE) -> tuple[WordCounts, list[str], list[str]]:
    warnings: list[str] = []
    names: list[str] = []
    counts, _ = Evaluator(made, world, warnings.append)(NETWORK, see=lambda one: names.append(one.sample.path.name))
    assert isinstance(counts, WordCounts)
    return counts, names, warnings


def test_correct_words_are_counted(tmp_path: Path) -> None:
    texts = list(ALPHANUMERIC[:COUNT])
    texts[3], texts[7] = "x", "77"
    counts, names, warnings = evaluate(section(tmp_path, texts))
    assert (counts.words, counts.right, counts.similarity) == (13, 11, 11.5)
    assert (counts.exact, counts.edits, counts.characters) == (11, 2, 14)
    assert names == [f"{n}.png" for n in range(COUNT)]
    assert warnings == []


@pytest.mark.parametrize("size", [1, 2, 3, 13])
def test_every_word_counts_once_over_the_ranks(tmp_path: Path, size: int) -> None:
    texts = list(ALPHANUMERIC[:COUNT])
    texts[5] = "x"
    made = section(tmp_path, texts)
    total, seen = WordCounts(), []
    for rank in range(size):
        env = replace(ALONE.env, rank=rank, size=size)
        counts, names, _ = evaluate(made, Share(env, "single", "CPU"))
        total += counts
        seen += names
    assert (total.words, total.right, total.similarity, total.exact, total.edits) == (13, 12, 12, 12, 1)
    assert sorted(seen) == sorted(f"{n}.png" for n in range(COUNT))


@pytest.mark.parametrize("bad", [{4}, {12}, {8, 9, 10, 11}, set(range(1, COUNT))])
def test_damaged_images_are_named_and_count_as_wrong(tmp_path: Path, bad: set[int]) -> None:
    """Also if a batch has only damaged images, or the last batch is a single one."""
    made = section(tmp_path, list(ALPHANUMERIC[:COUNT]))
    for number in bad:
        (tmp_path / "images" / f"{number}.png").write_bytes(b"damaged")
    counts, names, warnings = evaluate(made)
    assert (counts.words, counts.right) == (COUNT, COUNT - len(bad))
    assert len(names) == COUNT
    assert len(warnings) == len(bad)
    for number in bad:
        assert any(
            f"/{number}.png cannot be used, a black image replaces it: not an image" in warning for warning in warnings
        )


def test_a_damaged_image_is_named_once_in_a_run(tmp_path: Path) -> None:
    made = section(tmp_path, ["0", "1"])
    (tmp_path / "images" / "1.png").unlink()
    warnings: list[str] = []
    evaluator = Evaluator(made, ALONE, warnings.append)
    assert evaluator(NETWORK).counts == evaluator(NETWORK).counts
    assert len(warnings) == 1


def test_words_that_are_empty_after_normalisation_do_not_count(tmp_path: Path) -> None:
    """Otherwise they would count as correct if nothing is read."""
    counts, names, warnings = evaluate(section(tmp_path, ["0", "!?", "2", " "]))
    assert (counts.words, counts.right) == (2, 2)
    assert names == ["0.png", "2.png"]
    assert warnings == ["evaluation: 2 of 4 words are left out: no known character"]
    with pytest.raises(KitError, match="no word of the evaluation has a character of the dictionary"):
        evaluate(section(tmp_path, ["!?"]))


def test_an_evaluation_without_any_readable_image_is_an_error(tmp_path: Path) -> None:
    made = section(tmp_path, ["0", "1", "2"])
    for path in (tmp_path / "images").iterdir():
        path.unlink()
    with pytest.raises(KitError, match="none of the 3 images of the evaluation can be read"):
        evaluate(made)


def test_images_are_not_kept_in_memory(tmp_path: Path) -> None:
    """Except those of the current batch, and of at most two batches prepared by each thread."""
    made = section(tmp_path, ["0"] * 40, "eval.loader.batch_size=2", "eval.loader.num_workers=1")
    held: list[int] = []

    def images() -> int:
        return sum(type(one) is TextLine and one.image is not None for one in gc.get_objects())

    def see(_: Prediction) -> None:
        held.append(images() - before)

    evaluator = Evaluator(made, ALONE, lambda _: None)
    gc.collect()
    before = images()  # left over from other tests
    _, distances = evaluator(NETWORK, see=see)
    assert len(held) == 40
    assert max(held) <= 8
    assert np.count_nonzero(distances) == 39


@pytest.mark.parametrize("most", [1, 2, 3, 20])
def test_the_picture_shows_the_worst_lines_and_no_correct_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """Image 7 has one of two letters wrong, images 3 and 9 are completely wrong."""
    texts = list(ALPHANUMERIC[:COUNT])
    texts[3], texts[7], texts[9] = "xyz", "77", "x"
    drawn: list[Row] = []

    def draw(rows: list[Row]) -> drawing.Image:
        drawn.extend(rows)
        return np.zeros((1, 1, 3), np.uint8)

    monkeypatch.setattr(drawing, "draw", draw)
    evaluator = Evaluator(section(tmp_path, texts), ALONE, lambda _: None)
    assert evaluator.picture_of_worst(NETWORK, evaluator(NETWORK).distances, most) is not None
    assert {row.truth for row in drawn[:2]} <= {"xyz", "x"}
    assert [row.truth for row in drawn[2:]] == ["77"][: max(0, most - 2)]
    assert len(drawn) == min(most, 3)


def test_there_is_no_picture_if_all_are_correct(tmp_path: Path) -> None:
    evaluator = Evaluator(section(tmp_path, ["0", "1"]), ALONE, lambda _: None)
    assert evaluator.picture_of_worst(NETWORK, evaluator(NETWORK).distances, 20) is None


@pytest.mark.parametrize(
    ("override", "texts", "right"),
    [
        ("metric.filter_ood=True", ["0!", "1", "b"], 2),
        ("metric.filter_ood=False", ["0!", "1", "b"], 1),
        ("metric.lower=True", ["0"] * 10 + ["A"], 2),
        ("metric.lower=False", ["0"] * 10 + ["A"], 1),
        ("metric.ignore_space=True", ["0 ", " 1"], 2),
        ("metric.ignore_space=False", ["0 ", " 1"], 0),
    ],
)
def test_the_options_of_the_metric_are_applied(tmp_path: Path, override: str, texts: list[str], right: int) -> None:
    assert evaluate(section(tmp_path, texts, override))[0].right == right
