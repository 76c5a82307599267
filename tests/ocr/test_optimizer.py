"""The update of the weights, against the papers' formulas in numpy."""

from typing import Any

import numpy as np
import pytest
from mindspore import Tensor
from numpy.typing import NDArray

from hccl_kit.ocr import optimizer
from tests.ocr.tiny import Normed, values

Array = NDArray[np.float64]
STEPS, RATES, FACTOR = 3, (0.1, 0.02, 0.05), 0.5
MATRICES = {"stem.0.weight", "head.weight"}


def textbook(section: dict[str, Any], weight: Array, gradients: list[Array], decay: float) -> Array:
    """One parameter after three steps: SGD, momentum (Polyak), Adam (Kingma, Ba 2015), AdamW (Loshchilov, Hutter)."""
    weight, opt = weight.astype(np.float64), section["opt"]
    velocity = first = second = np.zeros_like(weight)
    for step, (raw, rate) in enumerate(zip(gradients, RATES, strict=True), 1):
        gradient = FACTOR * raw
        if opt == "adamw":
            weight = weight * (1 - rate * decay)
        else:
            gradient = gradient + decay * weight
        if opt in ("adam", "adamw"):
            first = 0.9 * first + 0.1 * gradient
            second = 0.999 * second + 0.001 * gradient**2
            gradient = first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
        elif opt == "momentum":
            velocity = section["momentum"] * velocity + gradient
            gradient = velocity
        weight = weight - rate * gradient
    return weight


@pytest.mark.parametrize("spare", [True, False], ids=["spare biases", "decay all"])
@pytest.mark.parametrize("opt", ["sgd", "momentum", "adam", "adamw"])
def test_three_steps_are_those_of_the_paper(opt: str, spare: bool) -> None:
    section = {"opt": opt, "momentum": 0.8, "weight_decay": 0.3, "filter_bias_and_bn": spare}
    network = Normed()
    update = optimizer.build(section, network)
    before = values(network)
    generator = np.random.default_rng(1)
    gradients: dict[str, list[Array]] = {
        parameter.name: [generator.standard_normal(parameter.shape) for _ in range(STEPS)]
        for parameter in network.trainable_params()
    }
    for step, rate in enumerate(RATES):
        flat = np.concatenate([series[step].ravel() for series in gradients.values()])
        update(Tensor(flat.astype(np.float32)), Tensor(np.float32(FACTOR)), Tensor(np.float32(rate)))
    after = values(network)
    assert len(gradients) == 5
    for name, series in gradients.items():
        decay = 0.0 if spare and name not in MATRICES else 0.3
        expected = textbook(section, before[name].astype(np.float64), series, decay)
        np.testing.assert_allclose(after[name], expected, rtol=2e-5, atol=1e-4, err_msg=name)


def test_no_decay_is_no_decay() -> None:
    """A zero gradient leaves the weights as they are."""
    network = Normed()
    update = optimizer.build({"opt": "adamw", "weight_decay": 0.0, "filter_bias_and_bn": True}, network)
    before = values(network)
    size = sum(parameter.size for parameter in network.trainable_params())
    update(Tensor(np.zeros(size, np.float32)), Tensor(np.float32(1)), Tensor(np.float32(1)))
    for name, value in values(network).items():
        np.testing.assert_array_equal(value, before[name], name)
