"""RARE: the outputs of the reference for the same weights, and the autoregressive steps of its head."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from mindspore import Tensor, ops

from hccl_kit.ocr.models import crnn, crnn_small
from hccl_kit.ocr.models.crnn import AttentionHead
from hccl_kit.ocr.models.rec_resnet34 import RecResNet34
from tests.ocr.models import golden
from tests.ocr.reference import reference_arrays

pytestmark = pytest.mark.train

MODELS: dict[str, dict[str, Any]] = {
    "rare_resnet34": {
        "backbone": {"name": "rec_resnet34"},
        "neck": {"name": "RNNEncoder", "hidden_size": 256},
        "head": {"name": "AttentionHead", "out_channels": 38, "hidden_size": 256, "batch_max_length": 25},
    },
    "rare_resnet34_ch": {
        "backbone": {"name": "rec_resnet34"},
        "neck": {"name": "RNNEncoder", "hidden_size": 64},
        "head": {"name": "AttentionHead", "out_channels": 6625, "hidden_size": 256, "batch_max_length": 40},
    },
}
SMALL: dict[str, Any] = {
    "backbone": {"name": "rec_conv_small", "channels": [4, 4, 8, 8, 8]},
    "neck": {"name": "RNNEncoder", "hidden_size": 6},
    "head": {"name": "AttentionHead", "out_channels": 5, "hidden_size": 7, "batch_max_length": 3},
}


@pytest.mark.parametrize("name", MODELS)
def test_parameters_match_the_reference(name: str) -> None:
    """Names, shapes and order, so that its checkpoints load."""
    assert golden.parameters_of(crnn.build(MODELS[name], backbone=RecResNet34)) == golden.parameter_table(name)


@pytest.mark.usefixtures("pynative")
def test_outputs_match_the_reference() -> None:
    expected = reference_arrays("rare_resnet34.npz")
    network = crnn.build(MODELS["rare_resnet34"], backbone=RecResNet34)
    golden.fill(network)
    images, targets = golden.images(expected["input_shape"]), Tensor(expected["targets"].astype(np.int32))
    network.set_train(False)
    golden.assert_close(network(images).asnumpy(), expected["eval0"], "eval")
    network.head.set_train(True)
    golden.assert_close(network(images, targets).asnumpy(), expected["headtrain0"], "headtrain")
    network.set_train(True)
    golden.assert_close(network(images, targets).asnumpy(), expected["train0"], "train")
    golden.assert_statistics(network, expected)


def head() -> AttentionHead:
    made = AttentionHead(6, out_channels=5, hidden_size=7, batch_max_length=3)
    golden.fill(made)
    return made


@pytest.mark.usefixtures("pynative")
def test_without_targets_it_continues_from_its_own_characters() -> None:
    """Its own predictions as targets give the same outputs; another first character does not."""
    made, sequence = head(), golden.images((9, 2, 6))
    own = made(sequence).asnumpy()
    assert own.shape == (2, 4, 5)
    np.testing.assert_allclose(own.sum(axis=2), 1, rtol=1e-5)
    targets = np.zeros((2, 5), np.int32)
    targets[:, 1:] = own.argmax(axis=2)
    again = made(sequence, Tensor(targets))
    np.testing.assert_allclose(ops.softmax(again, 2).asnumpy(), own, rtol=1e-4, atol=1e-6)
    targets[:, 1] = (targets[:, 1] + 1) % 5
    other = ops.softmax(made(sequence, Tensor(targets)), 2).asnumpy()
    np.testing.assert_allclose(other[:, 0], own[:, 0], rtol=1e-4, atol=1e-6)
    assert np.abs(other[:, 1] - own[:, 1]).max() > 1e-3


@pytest.mark.parametrize("given", [False, True])
def test_graph_and_pynative_mode_agree(given: bool) -> None:
    network = crnn.build(SMALL, backbone=partial(crnn_small.Features, "rec_conv_small"))
    golden.fill(network)
    network.set_train(False)
    inputs = (golden.images((2, 3, 32, 40)), *([Tensor(np.array([[0, 3, 4, 1, 0]] * 2, np.int32))] if given else []))
    golden.assert_modes_agree(network, *inputs)


@pytest.mark.usefixtures("pynative")
def test_gradients_reach_every_parameter() -> None:
    network = crnn.build(SMALL, backbone=partial(crnn_small.Features, "rec_conv_small"))
    golden.fill(network)
    network.set_train(False)
    targets = Tensor(np.array([[0, 3, 4, 2, 1]], np.int32))
    assert golden.without_gradient(network, golden.images((1, 3, 32, 40)), targets) == []
