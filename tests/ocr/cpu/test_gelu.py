"""GELU of oneDNN matches MindSpore's own, forward and backward, also for extreme values."""

import os
from pathlib import Path

import numpy as np
import pytest
from mindspore import Tensor, nn

from hccl_kit.ocr.checkpoints.fetch import cache
from hccl_kit.ocr.cpu.gelu import Gelu, replace
from hccl_kit.ocr.cpu.library import hold, library
from tests.ocr.compiler import NEEDS_COMPILER
from tests.ocr.differentiated import found

pytestmark = NEEDS_COMPILER


class Activated(nn.Cell):
    """A map and its GELU."""

    def __init__(self, *, approximate: bool) -> None:
        super().__init__()
        self.act = nn.GELU(approximate=approximate)

    def construct(self, x: Tensor) -> Tensor:
        return self.act(5 * x)


@pytest.fixture(scope="module")
def path() -> Path:
    made = library(cache(os.environ) / "convolutions", os.environ)
    hold(made)
    return made


@pytest.mark.parametrize("approximate", [True, False])
@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (2, 5, 9, 11), (1, 4, 64, 257)])
def test_values_and_gradients_are_those_of_mindspore(path: Path, approximate: bool, shape: tuple[int, ...]) -> None:
    ours, plain = Activated(approximate=approximate), Activated(approximate=approximate)
    replace(ours, path)
    assert type(ours.act) is Gelu
    for left, right in zip(found(ours, shape), found(plain, shape), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-5, atol=3e-5)  # if outputs reach 20


@pytest.mark.parametrize("approximate", [True, False])
def test_large_values_match_mindspore(path: Path, approximate: bool) -> None:
    network = Activated(approximate=approximate)
    replace(network, path)
    values = np.array([-1e30, -1e4, -20, 0, 20, 1e4, 1e30], np.float32)
    np.testing.assert_array_equal(network(Tensor(values)).asnumpy(), 5 * np.maximum(values, 0))


def test_one_in_a_sequence_is_replaced(path: Path) -> None:
    network = nn.SequentialCell(nn.ReLU(), nn.GELU(approximate=False))
    values = Tensor(np.linspace(-6, 6, 1_001).astype(np.float32))
    plain = network(values).asnumpy()
    replaced = nn.SequentialCell(nn.ReLU(), nn.GELU(approximate=False))
    replace(replaced, path)
    assert [type(cell) for cell in replaced] == [nn.ReLU, Gelu]
    np.testing.assert_allclose(replaced(values).asnumpy(), plain, rtol=1e-5, atol=2e-6)
