"""The mean of initial and current weights: its formula, and its use in the evaluation."""

import numpy as np
import pytest
from mindspore import Tensor

from hccl_kit.ocr.train import optimizer
from hccl_kit.ocr.train.ema import Ema
from hccl_kit.ocr.train.step import TrainStep
from hccl_kit.ocr.train.weights_in_use import StartShare
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
