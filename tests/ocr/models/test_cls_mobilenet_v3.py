"""The classifier of directions: the reference's outputs for the same weights."""

from typing import Any

import pytest

from hccl_kit.ocr.models import cls_mobilenet_v3
from hccl_kit.ocr.models.network import Network
from tests.ocr.models import golden
from tests.ocr.reference import reference_arrays

pytestmark = pytest.mark.train

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
