"""MobileNetV3 as a feature extractor."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.models import cls_mobilenet_v3
from hccl_kit.ocr.models.mobilenet_v3 import MobileNetV3, mobilenet_v3, scaled
from hccl_kit.ocr.models.network import Network
from tests.ocr.models import golden
from tests.ocr.reference import reference_arrays

pytestmark = pytest.mark.train


def backbone(**options: Any) -> MobileNetV3:
    plain: dict[str, Any] = {"architecture": "large", "alpha": 1.0, "out_stages": None, "disable_se": False}
    return mobilenet_v3(**{**plain, **options})


@given(st.integers(1, 4096), st.floats(0.05, 4))
def test_scaled_channels_are_multiples_of_8_and_never_much_fewer(channels: int, alpha: float) -> None:
    found = scaled(channels, alpha)
    assert found % 8 == 0
    assert found >= max(8, 0.9 * channels * alpha)
    assert found <= channels * alpha + 8


def test_the_default_stages_match_the_recipe() -> None:
    network = backbone(alpha=0.5)
    assert network.out_stages == (5, 8, 14, 20)
    assert network.out_channels == (16, 24, 56, 480)


@pytest.mark.usefixtures("pynative")
@pytest.mark.parametrize("architecture", ["large", "small"])
def test_maps_of_strides_4_8_16_and_32(architecture: str) -> None:
    network = backbone(architecture=architecture, alpha=0.35)
    network.set_train(False)
    shapes = [x.shape for x in network(golden.images((1, 3, 64, 96)))]
    assert shapes == [(1, c, 64 // s, 96 // s) for c, s in zip(network.out_channels, (4, 8, 16, 32), strict=True)]


def test_without_squeeze_and_excitation_its_parameters_are_absent() -> None:
    squeezing = [p.name for p in backbone().get_parameters() if ".conv_" in p.name]
    assert len(squeezing) == 8 * 4  # eight blocks of the large table, two layers each, weight and bias
    assert not [p.name for p in backbone(disable_se=True).get_parameters() if ".conv_" in p.name]


def test_convolutions_are_initialised_with_variance_two_over_fan_out() -> None:
    weights = {p.name: p.asnumpy() for p in backbone().get_parameters()}
    for name, fan in [("features.18.weight", 960), ("features.17.layers.3.weight", 25 * 960)]:
        assert weights[name].std() == pytest.approx(np.sqrt(2 / fan), rel=0.05)
    assert weights["features.17.layers.6.conv_reduce.weight"].std() == pytest.approx(0.01, rel=0.05)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"out_stages": [8, 5, 14, 20]}, "out_stages is [8, 5, 14, 20]: four entries are needed, ascending"),
        ({"out_stages": [5, 8, 14, 21]}, "from 0 to 20"),
    ],
)
def test_stages_that_do_not_exist_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(KitError) as caught:
        backbone(**options)
    assert said in str(caught.value)


MODEL: dict[str, Any] = {
    "backbone": {"name": "cls_mobilenet_v3_small_100"},
    "head": {"name": "MobileNetV3Head", "num_classes": 2, "hidden_channels": 1024},
}


def filled() -> Network:
    network = cls_mobilenet_v3.build(MODEL)
    golden.fill(network)
    network.set_train(False)
    return network


def test_parameters_match_the_reference() -> None:
    """Names, shapes and order, so that its checkpoints load."""
    assert golden.parameters_of(cls_mobilenet_v3.build(MODEL)) == golden.parameter_table("cls_mobilenetv3")


@pytest.mark.usefixtures("pynative")
def test_outputs_match_the_reference() -> None:
    expected = reference_arrays("cls_mobilenetv3.npz")
    network = filled()
    images = golden.images(expected["input_shape"])
    golden.assert_close(network(images).asnumpy(), expected["eval0"], "eval")
    network.head.set_train(True)
    network.head.classifier[2].rate = 0.0
    golden.assert_close(network(images).asnumpy(), expected["headtrain0"], "headtrain")


@pytest.mark.usefixtures("pynative")
def test_gradients_reach_all_parameters_except_the_imagenet_classifier() -> None:
    network = filled()
    dead = golden.without_gradient(network, golden.images((2, 3, 48, 64)))
    assert dead == [p.name for p in network.trainable_params() if p.name.startswith("backbone.classifier.")]
