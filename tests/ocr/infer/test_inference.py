"""The outputs of a network reach the decoder in the expected type, and lines are read in batches of their width."""

import gc
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mindspore import Tensor, nn, ops
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.ocr import config, drawing
from hccl_kit.ocr.charset import ALPHANUMERIC
from hccl_kit.ocr.config import Config
from hccl_kit.ocr.data.samples import TextLine
from hccl_kit.ocr.drawing import Row
from hccl_kit.ocr.infer.inference import Evaluator, Inference, Prediction, Run, in_order
from hccl_kit.ocr.metrics.lines import WordCounts
from hccl_kit.ocr.tasks import recipes
from hccl_kit.runtime.join import World
from tests.ocr.data.images import dataset, write_image
from tests.ocr.run_tool import CONFIG
from tests.ocr.tiny import ALONE


class Ending(nn.Cell):
    """One number for each image, in the precision of the last layer."""

    def __init__(self, kind: ms.Type) -> None:
        super().__init__()
        self.kind = kind

    def construct(self, images: Tensor) -> Tensor:
        return ops.cast(ops.reduce_mean(images, (1, 2, 3)), self.kind)


@pytest.mark.parametrize("kind", [ms.float16, ms.float32])
def test_the_decoder_gets_float32_whatever_the_output_type_of_the_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: ms.Type
) -> None:
    write_image(tmp_path / "0.png", 254)
    seen: list[NDArray[Any]] = []

    def decode(outputs: NDArray[Any], samples: Sequence[TextLine]) -> list[str]:
        seen.append(outputs)
        return ["" for _ in samples]

    made = config.load(CONFIG, ["eval.loader.batch_size=1"])
    task = recipes.task(made)
    monkeypatch.setattr(task, "decode", decode)
    [[prediction]] = Inference(task, made["eval"]).batches(Ending(kind), [TextLine(tmp_path / "0.png", text="a")])
    assert prediction.value == ""
    assert [outputs.dtype for outputs in seen] == [np.float32]
    assert seen[0].shape == (1,)


class Width(nn.Cell):
    """A network that returns the width of each image."""

    def __init__(self, any_width: bool) -> None:
        super().__init__()
        self.any_width = any_width

    def construct(self, images: Tensor) -> Tensor:
        return ops.reduce_mean(ops.ones_like(images), (1, 2, 3)) * images.shape[3]


class Mean(nn.Cell):
    """A network that returns the mean of each image."""

    def __init__(self, any_width: bool) -> None:
        super().__init__()
        self.any_width = any_width

    def construct(self, images: Tensor) -> Tensor:
        return ops.reduce_mean(images, (1, 2, 3))


@pytest.mark.parametrize("any_width", [False, True])
@pytest.mark.parametrize("size", [1, 3])
def test_a_line_is_padded_to_the_next_width_whatever_the_others_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, any_width: bool
) -> None:
    """Images are 32 high and padded to 100 columns: 20 wide and 10 high becomes 64."""
    columns = [6, 30, 10, 12, 31, 20, 8, 30, 7, 25, 13]
    for number, width in enumerate(columns):
        write_image(tmp_path / f"{number}.png", 254, width=width)
    lines = [TextLine(tmp_path / f"{number}.png", text="a") for number in range(len(columns))]
    made = config.load(CONFIG, ["eval.loader.batch_size=4", "eval.loader.bucket_widths=[64, 40]"])
    task = recipes.task(made)
    monkeypatch.setattr(task, "decode", lambda outputs, samples: outputs[: len(samples)].tolist())
    expected = {number: 40 if width <= 12 else 64 if width <= 20 else 100 for number, width in enumerate(columns)}
    network = Width(any_width)
    for rank in range(size):
        share = np.arange(rank, len(columns), size)
        batches = list(Inference(task, made["eval"]).batches(network, lines, share))
        found = [one for batch in batches for one in batch]
        assert {int(one.sample.path.stem): one.value for one in found} == {number: expected[number] for number in share}
        assert [share[one.number] for one in found] == [int(one.sample.path.stem) for one in found]
        assert all(len({one.value for one in batch}) == 1 for batch in batches)
        assert all(len(batch) <= 4 for batch in batches)
    assert len(network.compile_cache) == (1 if any_width else 3)


@pytest.mark.parametrize("any_width", [False, True])
def test_a_batch_is_filled_up_only_for_a_fixed_shape_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, any_width: bool
) -> None:
    """Five lines of one width in batches of four: the last batch has one line, with the result of a full batch."""
    for number in range(5):
        write_image(tmp_path / f"{number}.png", 40 * number, width=10)
    lines = [TextLine(tmp_path / f"{number}.png", text="a") for number in range(5)]
    made = config.load(CONFIG, ["eval.loader.batch_size=4", "eval.loader.bucket_widths=[40]"])
    task = recipes.task(made)
    sizes: list[int] = []

    def decode(outputs: NDArray[Any], samples: Sequence[TextLine]) -> list[float]:
        sizes.append(len(outputs))
        return [float(output) for output in outputs[: len(samples)]]

    monkeypatch.setattr(task, "decode", decode)
    network = Mean(any_width)
    found = [one.value for batch in Inference(task, made["eval"]).batches(network, lines) for one in batch]
    assert sizes == [4, 1 if any_width else 4]
    alone = [Inference(task, made["eval"]).batches(network, [line]) for line in lines]
    assert found == [one.value for batches in alone for batch in batches for one in batch]
    assert len(set(found)) == 5
    assert len(network.compile_cache) == 1


class Several:
    """A runner of three simultaneous batches, of which later ones finish first."""

    any_size, at_once = True, 3

    def __init__(self) -> None:
        self.threads: set[str] = set()

    def of_shape(self, shape: Sequence[int]) -> Run:
        assert threading.current_thread() is threading.main_thread()
        return self._run

    def _run(self, images: NDArray[np.float32]) -> NDArray[np.float32]:
        self.threads.add(threading.current_thread().name)
        time.sleep(0.02 / float(1 + images.mean() % 7))
        return images.mean((1, 2, 3))


def test_simultaneous_batches_are_returned_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        write_image(tmp_path / f"{number}.png", 10 * number)
    lines = [TextLine(tmp_path / f"{number}.png", text="a") for number in range(20)]
    made = config.load(CONFIG, ["eval.loader.batch_size=2"])
    task = recipes.task(made)
    monkeypatch.setattr(task, "decode", lambda outputs, samples: outputs.tolist())
    runner = Several()
    batches = list(Inference(task, made["eval"]).batches(runner, lines))
    found = [one for batch in batches for one in batch]
    assert [one.number for one in found] == list(range(20))
    assert [len(batch) for batch in batches] == [2] * 10
    assert [one.value for one in found] == sorted(one.value for one in found)
    assert threading.main_thread().name not in runner.threads


@given(st.permutations(range(7)))
def test_values_are_yielded_in_order_and_as_early_as_possible(order: list[int]) -> None:
    arrived: set[int] = set()

    def arriving() -> Iterator[tuple[int, int]]:
        for number in order:
            arrived.add(number)
            yield number, number

    released = [(value, len(arrived)) for value in in_order(arriving())]
    assert [value for value, _ in released] == list(range(7))
    for value, count in released:
        assert count == 1 + max(order.index(earlier) for earlier in range(value + 1))


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
