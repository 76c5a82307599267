"""Blocked layouts give the same results as plain ones, forward and backward, with the same parameters."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor, nn
from numpy.typing import NDArray

from hccl_kit.ocr.adapt.freeze import batch_norms, freeze_batch_norm
from hccl_kit.ocr.checkpoints.fetch import cache
from hccl_kit.ocr.cpu import blocks
from hccl_kit.ocr.cpu import convolution as convolutions
from hccl_kit.ocr.cpu.library import hold, library
from hccl_kit.ocr.models import rec_resnet34, svtr
from hccl_kit.ocr.models.detector import BasicBlock, Bottleneck
from hccl_kit.ocr.models.network import MaxPool
from hccl_kit.ocr.models.ppocr import necks
from hccl_kit.ocr.models.ppocr.convolutions import Normed
from hccl_kit.ocr.on_cpu import INSTRUCTION_SETS
from tests.ocr.compiler import NEEDS_COMPILER
from tests.ocr.differentiated import found
from tests.places import ROOT

pytestmark = NEEDS_COMPILER
OTHER_BLOCKS = """
import sys
from pathlib import Path
from hccl_kit.ocr.cpu.library import hold
from tests.ocr.cpu.test_blocks import compared
hold(Path(sys.argv[1]))
for name in ("pooled", "depthwise", "Bottleneck"):
    compared(name, Path(sys.argv[1]))
"""


def convolution(before: int, after: int, kernel: int = 3, **options: object) -> nn.Conv2d:
    padding = {"pad_mode": "pad", "padding": kernel // 2} if kernel > 1 else {}
    return nn.Conv2d(before, after, kernel, **padding, **options)


def pooled() -> nn.Cell:
    """Like the small CRNN, with poolings before and after ReLU."""
    return nn.SequentialCell(
        convolution(3, 16),
        nn.BatchNorm2d(16, momentum=0.7, eps=1e-3),
        MaxPool(),
        nn.ReLU(),
        MaxPool(rows_only=True),
        convolution(16, 32, stride=2),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        convolution(32, 48, has_bias=True),
    )


NETWORKS: dict[str, tuple[Callable[[], nn.Cell], tuple[int, ...], int]] = {
    "pooled": (pooled, (2, 3, 16, 20), 2),
    "odd sizes": (pooled, (2, 3, 15, 13), 2),
    "three rows": (pooled, (2, 3, 6, 7), 2),
    "depthwise": (
        lambda: nn.SequentialCell(convolution(16, 16, group=16), nn.BatchNorm2d(16), nn.ReLU(), convolution(16, 4)),
        (2, 16, 9, 7),
        1,
    ),
    "another activation": (
        lambda: nn.SequentialCell(convolution(3, 16), nn.BatchNorm2d(16), nn.HSwish(), convolution(16, 4)),
        (2, 3, 9, 7),
        1,
    ),
    "channels that do not fit": (
        lambda: nn.SequentialCell(convolution(3, 24), nn.BatchNorm2d(24), nn.ReLU(), convolution(24, 4)),
        (2, 3, 9, 7),
        0,
    ),
    "a bias": (lambda: nn.SequentialCell(convolution(3, 16, has_bias=True), nn.BatchNorm2d(16)), (2, 3, 9, 7), 0),
    "nothing before": (lambda: nn.SequentialCell(nn.BatchNorm2d(16), convolution(16, 16)), (2, 16, 9, 7), 0),
    "rec_resnet34": (lambda: rec_resnet34.Block(16, 32, first=True, halve=True), (2, 16, 8, 6), 3),
    "light_svtr": (lambda: necks.Normalised(16, 16, (1, 3), act="swish"), (2, 16, 1, 9), 1),
    "svtr": (lambda: svtr.Patch(3, 32), (2, 3, 8, 6), 1),
    "Normed": (lambda: Normed(3, 32, 3, stride=2), (2, 3, 9, 7), 1),
    "BasicBlock": (lambda: BasicBlock(16, 32, 2), (2, 16, 9, 7), 3),
    "Bottleneck": (lambda: Bottleneck(16, 16, 1), (2, 16, 9, 7), 4),
}


@pytest.fixture(scope="module")
def path() -> Path:
    made = library(cache(os.environ) / "convolutions", os.environ)
    hold(made)
    return made


def values_of(network: nn.Cell) -> dict[str, NDArray[np.float32]]:
    return {parameter.name: parameter.asnumpy().copy() for parameter in network.get_parameters()}


def prepared(name: str) -> nn.Cell:
    """The network with reproducible parameters, none of which is 0 or 1."""
    network = NETWORKS[name][0]()
    draw = np.random.default_rng(7).uniform
    for parameter in network.get_parameters():
        low, high = (0.5, 1.5) if parameter.name.endswith(("gamma", "variance")) else (-0.3, 0.3)
        parameter.set_data(Tensor(draw(low, high, parameter.shape).astype(np.float32)))
    return network


def close(one: NDArray[np.float32], other: NDArray[np.float32], share: float = 2e-5) -> bool:
    return one.shape == other.shape and bool(np.abs(one - other).max() <= share * max(np.abs(other).max(), 0.1))


def compared(name: str, path: Path, *, frozen: bool = False) -> None:
    """Assert that a plain and a blocked network agree in training, in their statistics, and in evaluation."""
    _, shape, count = NETWORKS[name]
    plain, blocked = prepared(name), prepared(name)
    convolutions.replace(plain, path)
    convolutions.replace(blocked, path)
    blocks.replace(blocked, path)
    assert sum(isinstance(cell, blocks.ByBatch) for _, cell in blocked.cells_and_names()) == count
    if frozen:
        freeze_batch_norm(plain)
        freeze_batch_norm(blocked)
    for one, other in zip(found(blocked, shape), found(plain, shape), strict=True):
        assert close(one, other)
    remembered = values_of(plain)
    for parameter, value in values_of(blocked).items():
        assert close(value, remembered[parameter]), parameter
    given = Tensor(np.random.default_rng(1).standard_normal(shape).astype(np.float32))
    assert close(blocked.set_train(False)(given).asnumpy(), plain.set_train(False)(given).asnumpy())


@pytest.mark.parametrize("name", NETWORKS)
def test_training_and_evaluation_match_the_plain_layout(name: str, path: Path) -> None:
    compared(name, path)


@pytest.mark.parametrize("name", ["pooled", "BasicBlock"])
def test_frozen_statistics_match_the_plain_layout(name: str, path: Path) -> None:
    compared(name, path, frozen=True)


def test_the_moving_statistics_match_mindspore(path: Path) -> None:
    plain, blocked = prepared("pooled"), prepared("pooled")
    before = values_of(plain)
    convolutions.replace(blocked, path)
    blocks.replace(blocked, path)
    for network in (plain, blocked):
        for _ in range(3):
            found(network, (2, 3, 16, 20))
    after = values_of(blocked)
    for norm in batch_norms(plain):
        for parameter in (norm.moving_mean, norm.moving_variance):
            assert close(after[parameter.name], parameter.asnumpy())
            assert not close(after[parameter.name], before[parameter.name], 0.01)


def test_one_graph_supports_images_of_all_sizes(path: Path) -> None:
    plain, blocked = prepared("pooled"), prepared("pooled")
    for network in (plain, blocked):
        convolutions.replace(network, path)
        network.set_train(False)
    blocks.replace(blocked, path)
    blocked.set_inputs(Tensor(shape=(None, 3, None, None), dtype=ms.float32))
    for size in (12, 17):
        given = Tensor(np.random.default_rng(size).standard_normal((1, 3, size, size + 3)).astype(np.float32))
        assert close(blocked(given).asnumpy(), plain(given).asnumpy())


@pytest.mark.parametrize("any_size", [False, True])
def test_maps_that_are_smaller_than_the_window_are_refused(any_size: bool, path: Path) -> None:
    blocked = prepared("pooled").set_train(False)
    convolutions.replace(blocked, path)
    blocks.replace(blocked, path)
    if any_size:
        blocked.set_inputs(Tensor(shape=(None, 3, None, None), dtype=ms.float32))
    with pytest.raises(RuntimeError, match="maps are smaller than the window of a pooling"):
        blocked(Tensor(np.ones((1, 3, 2, 1), np.float32))).asnumpy()


@pytest.mark.train
def test_works_with_the_block_size_of_another_instruction_set(path: Path) -> None:
    environ = {**os.environ, "PYTHONPATH": str(ROOT), INSTRUCTION_SETS: "AVX2"}
    subprocess.run([sys.executable, "-c", OTHER_BLOCKS, str(path)], check=True, env=environ, timeout=600)
