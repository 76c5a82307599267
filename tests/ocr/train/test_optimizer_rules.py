"""NAdam, RMSProp, Adagrad and LAMB: against the formulas in numpy, and against MindSpore where it supports CPU."""

from typing import Any

import numpy as np
import pytest
from mindspore import Tensor, nn
from numpy.typing import NDArray

from hccl_kit.ocr.train import optimizer, optimizer_rules
from tests.ocr.tiny import Normed, values
from tests.ocr.train.test_optimizer import FACTORS, a_section, apply, rate_of

pytestmark = pytest.mark.train

Array = NDArray[np.float64]
RATES = (0.1, 0.02, 0.05)


def nadam(weight: Array, gradients: list[Array], _: float, part: float) -> Array:
    first = second = np.zeros_like(weight)
    product = 1.0
    for step, (gradient, rate) in enumerate(zip(gradients, RATES, strict=True), 1):
        now, then = (0.9 * (1 - 0.5 * 0.96 ** (0.004 * number)) for number in (step, step + 1))
        product *= now
        first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2
        way = then * first / (1 - product * then) + (1 - now) * gradient / (1 - product)
        weight = weight - part * rate * way / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    return weight


def lamb(weight: Array, gradients: list[Array], decay: float, part: float) -> Array:
    first = second = np.zeros_like(weight)
    for step, (gradient, rate) in enumerate(zip(gradients, RATES, strict=True), 1):
        first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2
        way = first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.999**step)) + 1e-6) + decay * weight
        length, norm = np.linalg.norm(weight), np.linalg.norm(way)
        weight = weight - part * rate * (length / norm if length and norm else 1.0) * way
    return weight


def moved(
    section: dict[str, Any], steps: list[list[Array]]
) -> tuple[dict[str, NDArray[np.float32]], dict[str, NDArray[np.float32]]]:
    """The parameters before and after the steps; `steps` has the gradients of all parameters for each step."""
    network = Normed()
    before = values(network)
    update = optimizer.build(section, network)
    for gradients, rate in zip(steps, RATES, strict=True):
        apply(update, gradients, rate)
    return before, values(network)


def some_gradients() -> list[list[Array]]:
    generator = np.random.default_rng(1)
    shapes = [parameter.shape for parameter in Normed().trainable_params()]
    return [[generator.standard_normal(shape) for shape in shapes] for _ in RATES]


@pytest.mark.parametrize(("opt", "formula"), [("nadam", nadam), ("lamb", lamb)])
def test_three_steps_match_the_paper(opt: str, formula: Any) -> None:
    steps = some_gradients()
    decays = {"weight_decay": 0.3 if opt == "lamb" else 0.0, "decay_as_named": True}
    before, after = moved(a_section(opt=opt, lr_factors=FACTORS, **decays), steps)
    names = [parameter.name for parameter in Normed().trainable_params()]
    for index, name in enumerate(names):
        decay = 0.3 if opt == "lamb" and name.endswith("weight") else 0.0
        expected = formula(before[name].astype(np.float64), [row[index] for row in steps], decay, rate_of(name))
        np.testing.assert_allclose(after[name], expected, rtol=2e-5, atol=2e-6, err_msg=name)


@pytest.mark.parametrize(
    ("opt", "options", "theirs"),
    [
        ("rmsprop", {}, lambda rows, rate: nn.RMSProp(rows, rate, momentum=0.8)),
        (
            "rmsprop",
            {"decay": 0.7, "momentum": 0.0, "eps": 1e-7},
            lambda rows, rate: nn.RMSProp(rows, rate, 0.7, 0.0, 1e-7),
        ),
        ("rmsprop", {"centered": True}, lambda rows, rate: nn.RMSProp(rows, rate, momentum=0.8, centered=True)),
        ("adagrad", {}, lambda rows, rate: nn.Adagrad(rows, learning_rate=rate)),
        ("adagrad", {"accum": 0.5}, lambda rows, rate: nn.Adagrad(rows, 0.5, rate)),
    ],
)
def test_steps_match_mindspore(opt: str, options: dict[str, Any], theirs: Any) -> None:
    """For small epsilons: its CPU kernel adds a large one inside the root for some elements, outside for others."""
    steps = some_gradients()
    network = Normed()
    before = values(network)
    update = optimizer.build(a_section(opt=opt, weight_decay=0.0, lr_factors=FACTORS, **options), network)
    other = Normed()
    for parameter in other.get_parameters():
        parameter.set_data(Tensor(before[parameter.name]))
    rows = [{"params": [p], "lr": [rate_of(p.name) * rate for rate in RATES]} for p in other.trainable_params()]
    their_update = theirs([*rows, {"order_params": other.trainable_params()}], list(RATES))
    for gradients, rate in zip(steps, RATES, strict=True):
        apply(update, gradients, rate)
        their_update(tuple(Tensor(gradient.astype(np.float32)) for gradient in gradients))
    for name, value in values(other).items():
        np.testing.assert_allclose(values(network)[name], value, rtol=1e-5, atol=1e-6, err_msg=name)


def test_nesterov_is_an_alias_of_momentum_as_in_mindocr() -> None:
    rule = optimizer.build(a_section(opt="nesterov", nesterov=False), Normed())
    assert isinstance(rule, optimizer_rules.Momentum)
    assert rule.nesterov is False


@pytest.mark.parametrize("opt", ["nadam", "rmsprop", "adagrad", "lamb"])
def test_a_zero_gradient_gives_finite_weights(opt: str) -> None:
    nothing = [[np.zeros_like(gradient) for gradient in row] for row in some_gradients()]
    before, after = moved(a_section(opt=opt, weight_decay=0.0, accum=0.0), nothing)
    for name in before:
        np.testing.assert_array_equal(before[name], after[name])
