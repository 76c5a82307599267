"""Convolutions of oneDNN match MindSpore's own, forward and backward, with the same parameters."""

import os
from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor, nn
from numpy.typing import NDArray

from hccl_kit.ocr.checkpoints.fetch import cache
from hccl_kit.ocr.cpu.convolution import Convolution, Transposed, replace
from hccl_kit.ocr.cpu.library import hold, library
from hccl_kit.ocr.models.fpn import Enlarge
from tests.ocr.compiler import NEEDS_COMPILER
from tests.ocr.differentiated import found

pytestmark = NEEDS_COMPILER
SIZE = (9, 12)


@pytest.fixture(scope="module")
def path() -> Path:
    made = library(cache(os.environ) / "convolutions", os.environ)
    hold(made)
    return made


def assert_close(after: list[NDArray[np.float32]], before: list[NDArray[np.float32]], share: float) -> None:
    assert len(after) == len(before)
    for one, other in zip(after, before, strict=True):
        assert np.abs(one - other).max() <= share * np.abs(other).max()


@pytest.mark.parametrize(
    ("channels", "kernel", "options"),
    [
        ((3, 4), 3, {"pad_mode": "pad", "padding": 1}),
        ((4, 6), (2, 4), {"pad_mode": "valid", "dilation": (2, 3), "has_bias": True}),
        ((3, 2), (3, 5), {"pad_mode": "pad", "padding": (0, 1, 4, 3)}),
        ((3, 2), 3, {"pad_mode": "same", "stride": 2}),
        ((3, 2), (2, 4), {"pad_mode": "same", "stride": (3, 1)}),
        ((4, 8), 3, {"pad_mode": "pad", "padding": 1, "group": 2, "stride": (2, 1)}),
        ((16, 16), 5, {"pad_mode": "pad", "padding": 2, "group": 16}),
        ((16, 16), 4, {"pad_mode": "same", "group": 16}),
        ((4, 4), 1, {}),
    ],
)
def test_convolutions_match_mindspore(
    channels: tuple[int, int], kernel: Any, options: dict[str, Any], path: Path
) -> None:
    convolution = nn.Conv2d(*channels, kernel, **options)
    before, names = found(convolution, (2, channels[0], *SIZE)), [p.name for p in convolution.get_parameters()]
    replace(convolution, path)
    assert [p.name for p in convolution.get_parameters()] == names
    assert_close(found(convolution, (2, channels[0], *SIZE)), before, 1e-5)
    assert isinstance(convolution.conv2d, Convolution)


@pytest.mark.parametrize(
    ("channels", "kernel", "options"),
    [((4, 6), 2, {}), ((4, 6), 3, {"has_bias": True}), ((4, 4), 2, {"group": 2})],
)
def test_transposed_convolutions_match_mindspore(
    channels: tuple[int, int], kernel: int, options: dict[str, Any], path: Path
) -> None:
    convolution = nn.Conv2dTranspose(*channels, kernel, stride=2, pad_mode="valid", **options)
    before = found(convolution, (2, channels[0], *SIZE))
    replace(convolution, path)
    assert_close(found(convolution, (2, channels[0], *SIZE)), before, 1e-5)
    assert isinstance(convolution.conv2d_transpose, Transposed)


def test_enlarging_by_a_convolution_is_not_replaced(path: Path) -> None:
    cell = Enlarge(5, 3, by_convolution=True)
    before = found(cell, (2, 5, *SIZE))
    replace(cell, path)
    assert_close(found(cell, (2, 5, *SIZE)), before, 1e-6)


def test_transposed_convolutions_with_padding_are_not_replaced(path: Path) -> None:
    convolution = nn.Conv2dTranspose(4, 4, 3, stride=2, pad_mode="same")
    replace(convolution, path)
    assert not isinstance(convolution.conv2d_transpose, nn.Cell)


def test_one_graph_supports_images_of_all_sizes(path: Path) -> None:
    convolution = nn.Conv2d(3, 4, 3, stride=2, pad_mode="pad", padding=1)
    images = [np.random.default_rng(size).standard_normal((1, 3, size, size + 3)).astype(np.float32) for size in (8, 9)]
    before = [convolution(Tensor(image)).asnumpy() for image in images]
    replace(convolution, path)
    convolution.compile_cache.clear()
    convolution.set_inputs(Tensor(shape=(None, 3, None, None), dtype=ms.float32))
    after = [convolution(Tensor(image)).asnumpy() for image in images]
    assert [one.shape for one in after] == [(1, 4, 4, 6), (1, 4, 5, 6)]
    assert_close(after, before, 1e-5)


@pytest.mark.parametrize("size", [(None, 3, None, None), (2, 3, 2, 9)])
def test_images_that_are_smaller_than_the_kernel_are_refused(size: tuple[int | None, ...], path: Path) -> None:
    """Like in MindSpore. With a stride, dividing a negative size could give maps of one pixel."""
    convolution = nn.Conv2d(3, 4, 3, stride=2, pad_mode="valid")
    replace(convolution, path)
    convolution.set_inputs(Tensor(shape=size, dtype=ms.float32))
    with pytest.raises(RuntimeError, match="images are smaller than the kernel"):
        convolution(Tensor(np.ones((2, 3, 2, 9), np.float32))).asnumpy()


def test_the_exception_names_the_failed_operation(path: Path) -> None:
    convolution = nn.Conv2d(3, 4, 3)
    replace(convolution, path)
    convolution.conv2d.geometry[..., 0] = 0  # a stride that oneDNN refuses
    with pytest.raises(RuntimeError, match="oneDNN cannot compute this convolution, status "):
        convolution(Tensor(np.ones((2, 3, 9, 9), np.float32))).asnumpy()
