"""Channels scaled by a normalisation match the product, forward and backward."""

from pathlib import Path

import numpy as np
import pytest
from mindspore import Tensor, nn, ops

from hccl_kit.ocr.cpu import channel_scale
from hccl_kit.ocr.models.ppocr import lcnet_v4

pytestmark = pytest.mark.usefixtures("pynative")


@pytest.mark.parametrize("shape", [(1, 5, 7, 3), (3, 4, 2, 6)])
def test_each_channel_of_each_image_is_scaled_by_its_weight(shape: tuple[int, ...]) -> None:
    random = np.random.default_rng(0)
    maps = random.standard_normal(shape).astype(np.float32)
    weights = random.standard_normal((*shape[:2], 1, 1)).astype(np.float32)
    for training in (False, True):
        scaled = channel_scale.Scale().set_train(training)(Tensor(maps), Tensor(weights)).asnumpy()
        np.testing.assert_allclose(scaled, maps * weights, rtol=1e-6, atol=1e-7)


def test_the_gradient_of_a_channel_weight_is_that_of_a_product() -> None:
    random = np.random.default_rng(1)
    maps, gradient = (Tensor(random.standard_normal((2, 3, 4, 5)).astype(np.float32)) for _ in range(2))
    weights = Tensor(random.standard_normal((2, 3, 1, 1)).astype(np.float32))
    cell = channel_scale.Scale().set_train()
    of_maps, of_weights = ops.GradOperation(get_all=True, sens_param=True)(cell)(maps, weights, gradient)
    np.testing.assert_allclose(of_maps.asnumpy(), (weights * gradient).asnumpy(), rtol=1e-5, atol=1e-6)
    expected = (maps * gradient).asnumpy().sum(axis=(2, 3), keepdims=True)
    np.testing.assert_allclose(of_weights.asnumpy(), expected, rtol=1e-5, atol=1e-5)


def test_squeeze_and_excitation_use_it() -> None:
    network = nn.SequentialCell(lcnet_v4.SqueezeExcite(8))
    channel_scale.replace(network, Path())
    assert type(network[0].scale) is channel_scale.Scale
