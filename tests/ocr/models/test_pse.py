"""PSENet: the outputs of the reference for the same weights, and gradients."""

from typing import Any

import pytest
from mindspore import nn

from hccl_kit.ocr.models import detector
from hccl_kit.ocr.models.pse import PSEFPN, PSEHead
from tests.ocr.models import golden
from tests.ocr.models.test_db import MOBILE
from tests.ocr.reference import reference_arrays

pytestmark = pytest.mark.train

MODELS: dict[str, dict[str, Any]] = {
    "psenet_r50": {
        "backbone": {"name": "det_resnet50"},
        "neck": {"name": "PSEFPN", "out_channels": 256},
        "head": {"name": "PSEHead", "hidden_size": 256, "out_channels": 7},
    },
    "psenet_r152": {
        "backbone": {"name": "det_resnet152"},
        "neck": {"name": "PSEFPN", "out_channels": 128},
        "head": {"name": "PSEHead", "hidden_size": 256, "out_channels": 7},
    },
    "psenet_mobilenetv3": {
        "backbone": MOBILE,
        "neck": {"name": "PSEFPN", "out_channels": 96},
        "head": {"name": "PSEHead", "hidden_size": 96, "out_channels": 7},
    },
}
WITH_OUTPUTS = {"psenet_r50": 1e-4, "psenet_r152": 2e-3}
"""Tolerance of their training outputs: noise of 1e-7 in the images changes those of 152 layers by 1.6e-3."""


def built(name: str) -> nn.Cell:
    return detector.build(MODELS[name], neck=PSEFPN, head=PSEHead)


@pytest.mark.parametrize("name", MODELS)
def test_parameters_match_the_reference(name: str) -> None:
    """Names, shapes and order, so that its checkpoints load."""
    assert golden.parameters_of(built(name)) == golden.parameter_table(name)


@pytest.mark.usefixtures("pynative")
@pytest.mark.parametrize("name", ["psenet_r50", pytest.param("psenet_r152", marks=pytest.mark.long)])
def test_outputs_match_the_reference(name: str) -> None:
    expected = reference_arrays(f"{name}.npz")
    network = built(name)
    golden.fill(network)
    images = golden.images(expected["input_shape"])
    network.set_train(False)
    golden.assert_close(network(images).asnumpy(), expected["eval0"], "eval")
    network.head.add_flags(training=True)
    golden.assert_close(network(images).asnumpy(), expected["headtrain0"], "headtrain")
    network.set_train(True)
    share = WITH_OUTPUTS[name]
    golden.assert_close_in_sum(network(images).asnumpy(), expected["train0"], "train", share=share)
    golden.assert_statistics(network, expected, share=share)


@pytest.mark.usefixtures("pynative")
def test_gradients_reach_every_parameter_and_sizes_need_not_divide_by_32() -> None:
    """With normalisation in evaluation mode: in training mode, it cancels a preceding bias."""
    network = built("psenet_mobilenetv3")
    network.set_train(False)
    images = golden.images((1, 3, 68, 100))
    assert network(images).shape == (1, 7, 17, 25)
    assert golden.without_gradient(network, images) == []
