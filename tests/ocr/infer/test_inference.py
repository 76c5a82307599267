"""The outputs of a network reach the decoder in the expected type, and lines are read in batches of their width."""

import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mindspore import Tensor, nn, ops
from numpy.typing import NDArray

from hccl_kit.ocr import config
from hccl_kit.ocr.data.samples import TextLine
from hccl_kit.ocr.infer.inference import Inference, Run, in_order
from hccl_kit.ocr.tasks import recipes
from tests.ocr.data.images import write_image
from tests.ocr.run_tool import CONFIG


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
