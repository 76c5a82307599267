"""The residual networks as feature extractors."""

import numpy as np
import pytest
from mindspore import nn

from hccl_kit.ocr.models.detector import BACKBONES
from hccl_kit.ocr.models.resnet import pad
from tests.ocr.models import golden

pytestmark = pytest.mark.train


@pytest.mark.parametrize(("name", "size"), [("det_resnet18", 11_176_512), ("det_resnet50", 23_508_032)])
def test_the_number_of_parameters_is_that_of_the_paper_without_the_classifier(name: str, size: int) -> None:
    assert sum(parameter.size for parameter in BACKBONES[name]().trainable_params()) == size


@pytest.mark.usefixtures("pynative")
@pytest.mark.parametrize("name", ["det_resnet18", "det_resnet50"])
def test_maps_of_strides_4_8_16_and_32(name: str) -> None:
    network = BACKBONES[name]()
    network.set_train(False)
    shapes = [x.shape for x in network(golden.images((1, 3, 64, 96)))]
    assert shapes == [(1, c, 64 // s, 96 // s) for c, s in zip(network.out_channels, (4, 8, 16, 32), strict=True)]


def test_the_first_pooling_matches_the_reference() -> None:
    """After ReLU, "same" padding of even sides equals zeros at the bottom and on the right."""
    values = golden.images((1, 2, 8, 12)).abs()
    same = nn.MaxPool2d(3, 2, pad_mode="same")(values)
    np.testing.assert_array_equal(nn.MaxPool2d(3, 2)(pad(values)).asnumpy(), same.asnumpy())


def test_convolutions_use_he_initialisation() -> None:
    """Normal, with a variance of two over the number of outputs."""
    weights = {p.name: p.asnumpy() for p in BACKBONES["det_resnet18"]().get_parameters()}
    for name, fan in [("conv1.weight", 64 * 49), ("layer3.0.conv1.weight", 256 * 9)]:
        assert weights[name].std() == pytest.approx(np.sqrt(2 / fan), rel=0.05)
    assert (weights["layer3.0.bn1.gamma"] == 1).all()
