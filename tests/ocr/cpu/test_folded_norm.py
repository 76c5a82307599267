"""Folded normalisations compute the same as the plain ones; only pairs in a sequence are folded."""

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor, nn

from hccl_kit.ocr.adapt.freeze import batch_norms
from hccl_kit.ocr.cpu import folded_norm
from hccl_kit.ocr.models.ppocr.direction import Direction


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
    folded_norm.fold(network)
    assert not list(batch_norms(network))
    np.testing.assert_allclose(Whole(network)(images).asnumpy(), expected, rtol=1e-5, atol=1e-5)


def test_folds_the_classifier_of_directions() -> None:
    """In one graph for images of all widths, like in use."""
    network = with_statistics(Direction())
    images = Tensor(np.random.default_rng(1).uniform(-1, 1, (2, 3, 48, 96)).astype(np.float32))
    expected = Whole(network)(images).asnumpy()
    folded_norm.fold(network)
    assert not list(batch_norms(network))
    whole = Whole(network)
    whole.set_inputs(Tensor(shape=(None, 3, 48, None), dtype=ms.float32))
    np.testing.assert_allclose(whole(images).asnumpy(), expected, rtol=1e-4, atol=1e-5)


def test_other_normalisations_are_not_folded() -> None:
    """A normalisation that does not directly follow a convolution."""
    network = nn.SequentialCell(nn.Conv2d(4, 4, 3), nn.ReLU(), nn.BatchNorm2d(4))
    folded_norm.fold(network)
    assert len(list(batch_norms(network))) == 1
