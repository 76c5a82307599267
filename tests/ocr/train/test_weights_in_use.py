"""The weights in use: the formulas of the moving average and of the mean with the start, and the weights after."""

from pathlib import Path

import numpy as np
import pytest
from mindspore import Tensor

from hccl_kit.ocr.checkpoints import checkpoint
from hccl_kit.ocr.train import optimizer
from hccl_kit.ocr.train.step import TrainStep
from hccl_kit.ocr.train.weights_in_use import Ema, StartShare
from tests.ocr.tiny import OPTIMIZER, Normed, Squares, batch, values

SGD = {**OPTIMIZER, "opt": "sgd"}
SHAPE = (4, 1, 4, 4)


def step_of(network: Normed, share: float, ema: Ema | None = None) -> TrainStep:
    update = optimizer.build(SGD, network)
    return TrainStep(network, Squares(), update, ema=ema, start_share=StartShare(network, share))


@pytest.mark.parametrize("share", [0.25, 0.5, 1.0])
def test_the_weights_in_use_are_the_mean_of_initial_and_current_weights(share: float) -> None:
    network = Normed()
    step, start = step_of(network, share), values(network)
    for n in range(3):
        step(batch(SHAPE, n), 0.5)
    own = values(network)
    with step.weights_in_use():
        inside = values(network)
    assert "stem.1.moving_variance" in inside
    for name, value in inside.items():
        np.testing.assert_allclose(value, share * start[name] + (1 - share) * own[name], rtol=1e-5, atol=1e-7)
        np.testing.assert_array_equal(values(network)[name], own[name], name)


def test_with_a_moving_average_they_are_its_mean_with_the_initial_weights() -> None:
    network = Normed()
    ema, start = Ema(network, 0.9999), values(network)
    step = step_of(network, 0.5, ema)
    ema.updates.set_data(Tensor(2000.0))
    for n in range(3):
        step(batch(SHAPE, n), 0.5)
    averages = {average.name.removeprefix("ema."): average.asnumpy() for average in ema.averages}
    own = values(network)
    assert any(np.abs(averages[name] - own[name]).max() > 1e-3 for name in own)
    with step.weights_in_use():
        for name, value in values(network).items():
            np.testing.assert_allclose(value, (start[name] + averages[name]) / 2, rtol=1e-5, atol=1e-7)


def test_a_failed_evaluation_restores_the_weights() -> None:
    network = Normed()
    step = step_of(network, 0.5)
    step(batch(SHAPE), 0.5)
    own = values(network)
    with pytest.raises(ValueError, match="stop"), step.weights_in_use():
        raise ValueError("stop")
    for name, value in values(network).items():
        np.testing.assert_array_equal(value, own[name], name)


def with_average(network: Normed, decay: float) -> tuple[TrainStep, Ema]:
    ema = Ema(network, decay)
    return TrainStep(network, Squares(), optimizer.build(SGD, network), ema=ema), ema


def test_the_average_follows_the_formula() -> None:
    network = Normed()
    step, ema = with_average(network, 0.9)
    expected = values(network)
    for n in range(1, 4):
        step(batch(SHAPE, n), 0.1)
        kept = 0.9 * (1 - np.exp(-n / 2000))
        expected = {name: kept * expected[name] + (1 - kept) * value for name, value in values(network).items()}
    assert "stem.1.moving_variance" in expected
    for average in ema.averages:
        np.testing.assert_allclose(average.asnumpy(), expected[average.name.removeprefix("ema.")], rtol=1e-5, atol=1e-7)


def test_the_average_is_evaluated_and_the_weights_are_restored() -> None:
    """Also after the network was compiled: its graphs must use the average, and then the weights again."""
    network, images = Normed(), Tensor(batch(SHAPE).images)
    step, ema = with_average(network, 0.9999)
    ema.updates.set_data(Tensor(20000.0))  # the decay has reached its configured value
    network.set_train(False)
    initial = network(images).asnumpy()
    for n in range(3):
        step(batch(SHAPE, n), 0.5)
    network.set_train(False)
    own, outputs = values(network), network(images).asnumpy()
    with ema.applied():
        inside = network(images).asnumpy()
        averages = values(network)
    for average in ema.averages:
        np.testing.assert_array_equal(averages[average.name.removeprefix("ema.")], average.asnumpy())
    np.testing.assert_allclose(inside, initial, atol=0.01)
    assert np.abs(outputs - inside).max() > 0.1
    for name, value in values(network).items():
        np.testing.assert_array_equal(value, own[name], name)
    np.testing.assert_array_equal(network(images).asnumpy(), outputs)


def test_a_resumed_average_equals_the_uninterrupted_one(tmp_path: Path) -> None:
    one = Normed()
    step, ema = with_average(one, 0.9)
    step(batch(SHAPE, 0), 0.1)
    checkpoint.save(tmp_path / "resume.ckpt", step.state, checkpoint.Progress(1))
    step(batch(SHAPE, 1), 0.1)

    two = Normed()
    again, average = with_average(two, 0.9)
    checkpoint.load(tmp_path / "resume.ckpt", again.state)
    again(batch(SHAPE, 1), 0.1)
    assert float(average.updates.asnumpy()) == 2
    for left, right in zip(ema.averages, average.averages, strict=True):
        np.testing.assert_array_equal(left.asnumpy(), right.asnumpy(), left.name)


def test_parameter_names_are_those_of_the_network() -> None:
    network = Normed()
    names = [parameter.name for parameter in network.get_parameters()]
    ema = Ema(network, 0.9)
    assert [average.name for average in ema.averages] == [f"ema.{name}" for name in names]
    assert [parameter.name for parameter in network.get_parameters()] == names
    assert not any(average.requires_grad for average in ema.averages)
