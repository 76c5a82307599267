"""CRNN with both backbones: the outputs of the reference for the same weights, and properties of its parts."""

from math import sqrt
from typing import Any

import numpy as np
import pytest
from mindspore import Tensor, nn

from hccl_kit.ocr.models import crnn, dropout, rec_resnet34, vgg7
from hccl_kit.ocr.models.network import CTCHead
from tests.ocr.models import golden
from tests.ocr.reference import reference_arrays

pytestmark = pytest.mark.train

ENGLISH = {
    "name": "CTCHead",
    "weight_init": "crnn_customised",
    "bias_init": "crnn_customised",
    "out_channels": 37,
}
MODELS: dict[str, dict[str, Any]] = {
    "crnn_vgg7": {
        "backbone": {"name": "rec_vgg7", "pretrained": False},
        "neck": {"name": "RNNEncoder", "hidden_size": 256},
        "head": ENGLISH,
    },
    "crnn_resnet34": {
        "backbone": {"name": "rec_resnet34", "pretrained": False},
        "neck": {"name": "RNNEncoder", "hidden_size": 256},
        "head": ENGLISH,
    },
    "crnn_resnet34_ch": {
        "backbone": {"name": "rec_resnet34"},
        "neck": {"name": "RNNEncoder", "hidden_size": 64},
        "head": {"name": "CTCHead", "out_channels": 6624},
    },
}
TRAINABLE = {"crnn_vgg7": 8_725_413, "crnn_resnet34": 24_481_029, "crnn_resnet34_ch": 22_557_888}
STEPS = {"crnn_vgg7": vgg7.sequence_length, "crnn_resnet34": rec_resnet34.sequence_length}
EVAL_SLICES = {"crnn_resnet34_ch": np.s_[:, ::4, ::16]}
TRAIN_SLICES = {"crnn_resnet34_ch": np.s_[::4, :, ::16]}


def build(name: str) -> nn.Cell:
    backbone = vgg7.Vgg7 if name == "crnn_vgg7" else rec_resnet34.RecResNet34
    return crnn.build(MODELS[name], backbone=backbone)


def filled(name: str) -> nn.Cell:
    network = build(name)
    golden.fill(network)
    return network


@pytest.mark.parametrize("name", MODELS)
def test_parameters_match_the_reference(name: str) -> None:
    """Names, shapes and order, so that its checkpoints load."""
    network = build(name)
    assert golden.parameters_of(network) == golden.parameter_table(name)
    assert sum(parameter.size for parameter in network.trainable_params()) == TRAINABLE[name]


@pytest.mark.usefixtures("pynative")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long if name not in STEPS else ()) for name in MODELS]
)
def test_outputs_match_the_reference(name: str) -> None:
    expected = reference_arrays(f"{name}.npz")
    in_eval, in_training = EVAL_SLICES.get(name, ...), TRAIN_SLICES.get(name, ...)
    network = filled(name)
    images = golden.images(expected["input_shape"])
    network.set_train(False)
    found = network(images).asnumpy()
    golden.assert_close(found[in_eval], expected["eval0"], "eval")
    if "eval0_argmax" in expected:
        np.testing.assert_array_equal(found.argmax(axis=2), expected["eval0_argmax"])
        golden.assert_close(found.max(axis=2), expected["eval0_max"], "the best of each step")
    network.head.set_train(True)
    golden.assert_close(network(images).asnumpy()[in_training], expected["headtrain0"], "headtrain")
    network.set_train(True)
    golden.assert_close(network(images).asnumpy()[in_training], expected["train0"], "train")
    golden.assert_statistics(network, expected)


@pytest.mark.usefixtures("pynative")
@pytest.mark.parametrize("name", STEPS)
def test_the_number_of_time_steps_is_the_declared_one(name: str) -> None:
    network = build(name)
    for width in (32, 36, 50):
        images = golden.images((2, 3, 32, width))
        network.set_train(False)
        assert network(images).shape == (2, STEPS[name](width), 37)
        network.set_train(True)
        assert network(images).shape == (STEPS[name](width), 2, 37)


@pytest.mark.parametrize("name", ["crnn_vgg7", pytest.param("crnn_resnet34", marks=pytest.mark.long)])
def test_graph_and_pynative_mode_agree(name: str) -> None:
    network = filled(name)
    network.set_train(False)
    golden.assert_modes_agree(network, golden.images((2, 3, 32, 24)))


@pytest.mark.usefixtures("pynative")
@pytest.mark.parametrize("name", STEPS)
def test_gradients_reach_every_parameter(name: str) -> None:
    """With normalisation in evaluation mode: in training mode, it cancels a preceding bias."""
    network = filled(name)
    network.set_train(False)
    network.head.set_train(True)
    assert golden.without_gradient(network, golden.images((1, 3, 32, 24))) == []


def test_vgg7_is_initialised_like_the_reference() -> None:
    """Convolutions are normal with a standard deviation of 0.02, their biases with half of it."""
    unit = vgg7.Vgg7().conv6
    weight, bias = unit.conv.weight.asnumpy(), unit.conv.bias.asnumpy()
    assert weight.std() == pytest.approx(0.02, rel=0.01)
    assert np.abs(weight).max() > 0.08  # not uniform
    assert bias.std() == pytest.approx(0.01, rel=0.15)


@pytest.mark.usefixtures("pynative")
def test_dropout_applies_to_the_inputs_of_the_lstm_and_the_head_in_training() -> None:
    """Each separately: with the other one disabled, the output still depends on the keys."""
    neck = crnn.RNNEncoder(4, hidden_size=3, dropout=0.5)
    features = golden.images((2, 4, 1, 6))
    neck.set_train(False)
    still = neck(features).asnumpy()
    np.testing.assert_array_equal(outputs(neck, features, seeds=(1, 2)), [still, still])
    neck.set_train(True)
    for other in ("before", "behind"):
        kept = getattr(neck, other).rate
        getattr(neck, other).rate = 0.0
        one, two = outputs(neck, features, seeds=(1, 2))
        assert np.abs(one - two).max() > 0
        getattr(neck, other).rate = kept


def outputs(neck: nn.Cell, features: Tensor, *, seeds: tuple[int, ...]) -> list[Any]:
    found = []
    for seed in seeds:
        dropout.draw(dropout.cells(neck), np.random.default_rng(seed))
        found.append(neck(features).asnumpy())
    return found


def test_probabilities_are_the_softmax_of_the_logits_with_samples_first() -> None:
    sequence = golden.images((5, 2, 8))
    training, evaluation = CTCHead(8, out_channels=4), CTCHead(8, out_channels=4)
    for head in (training, evaluation):
        golden.fill(head)
    training.set_train(True)
    evaluation.set_train(False)
    logits, found = training(sequence).asnumpy(), evaluation(sequence).asnumpy()
    assert logits.shape == (5, 2, 4)
    assert found.shape == (2, 5, 4)
    np.testing.assert_allclose(found.sum(axis=2), 1, rtol=1e-5)
    shifted = np.log(found).transpose(1, 0, 2) - logits
    np.testing.assert_allclose(shifted, np.broadcast_to(shifted[..., :1], shifted.shape), atol=1e-5)


def test_weights_are_initialised_as_configured() -> None:
    customised = CTCHead(16, out_channels=600, weight_init="crnn_customised", bias_init="crnn_customised")
    for value in (customised.dense1.weight.asnumpy(), customised.dense1.bias.asnumpy()):
        assert np.abs(value).max() == pytest.approx(1 / sqrt(16), rel=0.05)
        assert np.abs(value).mean() == pytest.approx(1 / sqrt(16) / 2, rel=0.1)
    plain = CTCHead(16, out_channels=600)
    assert plain.dense1.weight.asnumpy().std() == pytest.approx(0.01, rel=0.1)
    assert not plain.dense1.bias.asnumpy().any()
