"""GELU of oneDNN and channels scaled by a normalisation match MindSpore's own, forward and backward."""

import os
from pathlib import Path

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor, nn, ops

from hccl_kit.ocr.adapt.freeze import batch_norms
from hccl_kit.ocr.checkpoints.fetch import cache
from hccl_kit.ocr.cpu import adapted
from hccl_kit.ocr.cpu.adapted import Gelu, Scale, replace_gelu, replace_scales
from hccl_kit.ocr.cpu.library import hold, library
from hccl_kit.ocr.models.ppocr import lcnet_v4
from hccl_kit.ocr.models.ppocr.direction import Direction
from tests.ocr.compiler import NEEDS_COMPILER
from tests.ocr.differentiated import found


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


@NEEDS_COMPILER
@pytest.mark.parametrize("approximate", [True, False])
@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (2, 5, 9, 11), (1, 4, 64, 257)])
def test_values_and_gradients_are_those_of_mindspore(path: Path, approximate: bool, shape: tuple[int, ...]) -> None:
    ours, plain = Activated(approximate=approximate), Activated(approximate=approximate)
    replace_gelu(ours, path)
    assert type(ours.act) is Gelu
    for left, right in zip(found(ours, shape), found(plain, shape), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-5, atol=3e-5)  # if outputs reach 20


@NEEDS_COMPILER
@pytest.mark.parametrize("approximate", [True, False])
def test_large_values_match_mindspore(path: Path, approximate: bool) -> None:
    network = Activated(approximate=approximate)
    replace_gelu(network, path)
    values = np.array([-1e30, -1e4, -20, 0, 20, 1e4, 1e30], np.float32)
    np.testing.assert_array_equal(network(Tensor(values)).asnumpy(), 5 * np.maximum(values, 0))


@NEEDS_COMPILER
def test_one_in_a_sequence_is_replaced(path: Path) -> None:
    network = nn.SequentialCell(nn.ReLU(), nn.GELU(approximate=False))
    values = Tensor(np.linspace(-6, 6, 1_001).astype(np.float32))
    plain = network(values).asnumpy()
    replaced = nn.SequentialCell(nn.ReLU(), nn.GELU(approximate=False))
    replace_gelu(replaced, path)
    assert [type(cell) for cell in replaced] == [nn.ReLU, Gelu]
    np.testing.assert_allclose(replaced(values).asnumpy(), plain, rtol=1e-5, atol=2e-6)


@pytest.mark.usefixtures("pynative")
@pytest.mark.parametrize("shape", [(1, 5, 7, 3), (3, 4, 2, 6)])
def test_each_channel_of_each_image_is_scaled_by_its_weight(shape: tuple[int, ...]) -> None:
    random = np.random.default_rng(0)
    maps = random.standard_normal(shape).astype(np.float32)
    weights = random.standard_normal((*shape[:2], 1, 1)).astype(np.float32)
    for training in (False, True):
        scaled = Scale().set_train(training)(Tensor(maps), Tensor(weights)).asnumpy()
        np.testing.assert_allclose(scaled, maps * weights, rtol=1e-6, atol=1e-7)


@pytest.mark.usefixtures("pynative")
def test_the_gradient_of_a_channel_weight_is_that_of_a_product() -> None:
    random = np.random.default_rng(1)
    maps, gradient = (Tensor(random.standard_normal((2, 3, 4, 5)).astype(np.float32)) for _ in range(2))
    weights = Tensor(random.standard_normal((2, 3, 1, 1)).astype(np.float32))
    cell = Scale().set_train()
    of_maps, of_weights = ops.GradOperation(get_all=True, sens_param=True)(cell)(maps, weights, gradient)
    np.testing.assert_allclose(of_maps.asnumpy(), (weights * gradient).asnumpy(), rtol=1e-5, atol=1e-6)
    expected = (maps * gradient).asnumpy().sum(axis=(2, 3), keepdims=True)
    np.testing.assert_allclose(of_weights.asnumpy(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.usefixtures("pynative")
def test_squeeze_and_excitation_use_it() -> None:
    network = nn.SequentialCell(lcnet_v4.SqueezeExcite(8))
    replace_scales(network, Path())
    assert type(network[0].scale) is Scale


def with_statistics(network: nn.Cell) -> nn.Cell:
    """Normalisations with different statistics for each channel."""
    random = np.random.default_rng(0)
    for norm in batch_norms(network):
        for parameter in (norm.gamma, norm.beta, norm.moving_mean, norm.moving_variance):
            parameter.set_data(Tensor(random.uniform(0.5, 2, parameter.shape).astype(np.float32)))
    return network.set_train(False)


class Whole(nn.Cell):
    """A network in a new graph: one that was compiled before folding would be reused."""

    def __init__(self, network: nn.Cell) -> None:
        super().__init__()
        self.network = network

    def construct(self, images: Tensor) -> Tensor:
        return self.network(images)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("group", [1, 4])
def test_folds_a_pair_in_a_sequence(bias: bool, group: int) -> None:
    convolution = nn.Conv2d(4, 8, 3, group=group, has_bias=bias, bias_init="ones")
    network = with_statistics(nn.SequentialCell(convolution, nn.BatchNorm2d(8, eps=0.1), nn.ReLU()))
    images = Tensor(np.random.default_rng(1).standard_normal((2, 4, 5, 6)).astype(np.float32))
    expected = Whole(network)(images).asnumpy()
    assert expected.any()
    adapted.fold(network)
    assert not list(batch_norms(network))
    np.testing.assert_allclose(Whole(network)(images).asnumpy(), expected, rtol=1e-5, atol=1e-5)


def test_folds_the_classifier_of_directions() -> None:
    """In one graph for images of all widths, like in use."""
    network = with_statistics(Direction())
    images = Tensor(np.random.default_rng(1).uniform(-1, 1, (2, 3, 48, 96)).astype(np.float32))
    expected = Whole(network)(images).asnumpy()
    adapted.fold(network)
    assert not list(batch_norms(network))
    whole = Whole(network)
    whole.set_inputs(Tensor(shape=(None, 3, 48, None), dtype=ms.float32))
    np.testing.assert_allclose(whole(images).asnumpy(), expected, rtol=1e-4, atol=1e-5)


def test_other_normalisations_are_not_folded() -> None:
    """A normalisation that does not directly follow a convolution."""
    network = nn.SequentialCell(nn.Conv2d(4, 4, 3), nn.ReLU(), nn.BatchNorm2d(4))
    adapted.fold(network)
    assert len(list(batch_norms(network))) == 1
