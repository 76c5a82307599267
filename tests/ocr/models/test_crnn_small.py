"""The small CRNN: its shapes, its size, and gradients for every parameter."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from mindspore import Tensor

from hccl_kit.ocr.models import crnn_small, dropout
from tests.ocr.models import golden

MODEL: dict[str, Any] = {
    "backbone": {"name": "rec_conv_small", "channels": [32, 32, 64, 64, 96]},
    "neck": {"name": "RNNEncoder", "hidden_size": 48},
    "head": {"name": "CTCHead", "out_channels": 37},
}
LINES: dict[str, Any] = {**MODEL, "backbone": {"name": "rec_conv_lines", "channels": [8, 16, 16, 24, 24, 32]}}


def images(count: int, width: int) -> Tensor:
    drawn = np.random.default_rng(0).standard_normal((count, 3, crnn_small.HEIGHT, width))
    return Tensor(drawn.astype(np.float32))


def test_the_number_of_parameters_is_the_sum_of_its_layers() -> None:
    """Convolutions and their norms, two LSTM directions with two biases each, the classifier over both."""
    channels = (3, 32, 32, 64, 64)
    convolutions = sum(9 * one * two for one, two in pairwise(channels)) + 4 * 64 * 96
    norms = 2 * (32 + 32 + 64 + 64 + 96)
    lstm = 2 * 4 * 48 * (96 + 48 + 2)
    head = (96 + 2 * 48 + 1) * 37
    found = sum(parameter.size for parameter in crnn_small.build(MODEL).trainable_params())
    assert found == convolutions + norms + lstm + head
    assert found == pytest.approx(150_000, rel=0.03)


def test_names_of_parameters_are_stable() -> None:
    """Checkpoints of earlier runs are loaded by these names."""
    names = [parameter.name for parameter in crnn_small.build(MODEL).get_parameters()]
    assert len(set(names)) == len(names)
    assert {name.split(".")[0] for name in names} == {"backbone", "neck", "head"}
    assert {"backbone.features.0.weight", "backbone.features.1.moving_mean", "head.weight", "head.bias"} <= set(names)


@pytest.mark.usefixtures("pynative")
@pytest.mark.parametrize("model", [MODEL, LINES], ids=["words", "lines"])
@pytest.mark.parametrize(("count", "width"), [(2, 100), (1, 32)])
def test_four_columns_make_one_step(count: int, width: int, model: dict[str, Any]) -> None:
    network = crnn_small.build(model)
    network.set_train(False)
    found = network(images(count, width))
    assert found.shape == (count, crnn_small.sequence_length(width), 37)
    assert found.dtype == Tensor(np.float32(0)).dtype
    np.testing.assert_allclose(found.asnumpy().sum(axis=2), 1, rtol=1e-5)
    network.set_train(True)
    assert network(images(2, width)).shape == (width // 4, 2, 37)


@pytest.mark.parametrize("model", [MODEL, LINES], ids=["words", "lines"])
def test_gradients_reach_every_parameter(model: dict[str, Any]) -> None:
    network = crnn_small.build(model)
    network.set_train(True)
    assert golden.without_gradient(network, images(2, 32)) == []


@pytest.mark.usefixtures("pynative")
@pytest.mark.parametrize("place", ["before", "behind"])
def test_dropout_applies_to_the_inputs_of_the_lstm_and_the_head_in_training(place: str) -> None:
    network = crnn_small.build({**MODEL, "neck": {**MODEL["neck"], "dropout": 0.5}})
    getattr(network, place).rate = 0.0  # only the other one
    outputs = {}
    for training in (False, True):
        network.set_train(training)
        for seed in (1, 2):
            dropout.draw(dropout.cells(network), np.random.default_rng(seed))
            outputs[training, seed] = network(images(2, 32)).asnumpy()
    np.testing.assert_array_equal(outputs[False, 1], outputs[False, 2])
    assert np.abs(outputs[True, 1] - outputs[True, 2]).max() > 0
