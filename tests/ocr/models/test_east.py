"""EAST: the outputs of the reference for the same weights, and gradients."""

from typing import Any

import numpy as np
import pytest
from mindspore import nn
from numpy.typing import NDArray

from hccl_kit.ocr.models import detector
from hccl_kit.ocr.models.east import EASTFPN, EASTHead
from tests.ocr.models import golden
from tests.ocr.models.test_db import MOBILE
from tests.ocr.reference import reference_arrays

pytestmark = pytest.mark.train

NECK = {"name": "EASTFPN", "out_channels": 128}
MODELS: dict[str, dict[str, Any]] = {
    "east_r50": {"backbone": {"name": "det_resnet50"}, "neck": NECK, "head": {"name": "EASTHead"}},
    "east_mobilenetv3": {"backbone": MOBILE, "neck": NECK, "head": {"name": "EASTHead"}},
}


def built(name: str) -> nn.Cell:
    return detector.build(MODELS[name], neck=EASTFPN, head=EASTHead)


def assert_maps(found: NDArray[np.float32], expected: dict[str, Any], what: str) -> None:
    """The reference returns score and geometry separately; the plain weights saturate both."""
    golden.assert_close_in_sum(found[:, :1], expected[f"{what}0"], f"{what}: score")
    golden.assert_close_in_sum(found[:, 1:], expected[f"{what}1"], f"{what}: geometry")


@pytest.mark.parametrize("name", MODELS)
def test_parameters_match_the_reference(name: str) -> None:
    """Names, shapes and order, so that its checkpoints load."""
    assert golden.parameters_of(built(name)) == golden.parameter_table(name)


@pytest.mark.usefixtures("pynative")
def test_outputs_match_the_reference() -> None:
    expected = reference_arrays("east_r50.npz")
    network = built("east_r50")
    golden.fill(network)
    images = golden.images(expected["input_shape"])
    network.set_train(False)
    before: dict[str, Any] = {}
    for name in ("conv1", "conv2", "conv3"):
        getattr(network.head, name).register_forward_hook(lambda _, __, out, name=name: before.update({name: out}))
    assert_maps(network(images).asnumpy(), expected, "eval")
    for name, logits in before.items():
        golden.assert_close(logits.asnumpy(), expected[f"pre_head.{name}"], name)
    assert len(before) == 3
    network.head.add_flags(training=True)
    assert_maps(network(images).asnumpy(), expected, "headtrain")
    network.set_train(True)
    assert_maps(network(images).asnumpy(), expected, "train")
    golden.assert_statistics(network, expected)


@pytest.mark.usefixtures("pynative")
def test_outputs_without_saturation_match_the_reference() -> None:
    """With smaller weights at the end."""
    expected = reference_arrays("east_r50.npz")
    network = built("east_r50")
    golden.fill(network)
    for parameter in network.get_parameters():
        if parameter.name in expected["soft_names"]:
            parameter.set_data(parameter * float(expected["soft_scale"]))
    network.set_train(False)
    maps = network(golden.images(expected["input_shape"])).asnumpy()
    golden.assert_close(maps[:, :1], expected["soft_headtrain0"], "score")
    golden.assert_close(maps[:, 1:], expected["soft_headtrain1"], "geometry")


@pytest.mark.usefixtures("pynative")
def test_gradients_reach_every_parameter_and_sizes_need_not_divide_by_32() -> None:
    """With normalisation in evaluation mode: in training mode, it cancels a preceding bias."""
    network = built("east_mobilenetv3")
    network.set_train(False)
    images = golden.images((1, 3, 68, 100))
    maps = network(images).asnumpy()
    assert maps.shape == (1, 6, 17, 25)
    assert 0 <= maps[:, 0].min() <= maps[:, 0].max() <= 1
    assert 0 <= maps[:, 1:5].min() <= maps[:, 1:5].max() <= 512
    assert np.abs(maps[:, 5]).max() <= np.pi / 2
    assert golden.without_gradient(network, images) == []
