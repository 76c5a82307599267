"""Weight updates, against the formulas of the papers in numpy, and against MindSpore where it supports CPU."""

from typing import Any

import numpy as np
import pytest
from mindspore import Parameter, Tensor, nn
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.train import optimizer, optimizer_rules
from tests.ocr.tiny import OPTIMIZER, Normed, values

pytestmark = pytest.mark.train

Array = NDArray[np.float64]
STEPS, RATES, FACTOR = 3, (0.1, 0.02, 0.05), 0.5
FACTORS = {"head": 0.1, "head.bias": 2.0}
"""Of the rate, by the beginning of a name."""
MATRICES = {"stem.0.weight", "head.weight"}


def rate_of(name: str) -> float:
    """The factor of the longest prefix."""
    return 2.0 if name == "head.bias" else 0.1 if name.startswith("head") else 1.0


def textbook(section: dict[str, Any], weight: Array, gradients: list[Array], decay: float, part: float) -> Array:
    """One parameter after three steps at `part` of the rate, as the papers write it (Nesterov: Sutskever et al.)."""
    weight, opt = weight.astype(np.float64), section["opt"].lower()
    velocity = first = second = np.zeros_like(weight)
    for step, (raw, whole) in enumerate(zip(gradients, RATES, strict=True), 1):
        gradient, rate = FACTOR * raw, part * whole
        if opt in ("adamw", "lion"):
            weight = weight * (1 - rate * decay)
        else:
            gradient = gradient + decay * weight
        if opt in ("adam", "adamw"):
            first = 0.9 * first + 0.1 * gradient
            second = 0.999 * second + 0.001 * gradient**2
            ahead = 0.9 * first + 0.1 * gradient if section["nesterov"] else first
            gradient = ahead / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
        elif opt == "lion":
            velocity, gradient = 0.99 * velocity + 0.01 * gradient, np.sign(0.9 * velocity + 0.1 * gradient)
        else:
            velocity = section["momentum"] * velocity + gradient
            gradient = gradient + section["momentum"] * velocity if section["nesterov"] else velocity
        weight = weight - rate * gradient
    return weight


def a_section(**values: Any) -> dict[str, Any]:
    return {**OPTIMIZER, "opt": "sgd", "momentum": 0.8, "weight_decay": 0.3, **values}


def apply(update: optimizer_rules.Update, gradients: list[NDArray[Any]], rate: float, factor: float = 1.0) -> None:
    update(
        Tensor(np.float32(factor)), Tensor(np.float32(rate)), *(Tensor(part.astype(np.float32)) for part in gradients)
    )


@pytest.mark.parametrize(
    "way", ["sgd", "sgd nesterov", "momentum", "momentum nesterov", "adam", "adam nesterov", "adamw", "lion"]
)
def test_three_steps_match_the_paper(way: str) -> None:
    """Each parameter at its own rate."""
    opt, _, nesterov = way.partition(" ")
    section = a_section(opt=opt, nesterov=bool(nesterov), decay_as_named=True, lr_factors=FACTORS)
    network = Normed()
    update = optimizer.build(section, network)
    before = values(network)
    generator = np.random.default_rng(1)
    gradients: dict[str, list[Array]] = {
        parameter.name: [generator.standard_normal(parameter.shape) for _ in range(STEPS)]
        for parameter in network.trainable_params()
    }
    for step, rate in enumerate(RATES):
        apply(update, [series[step] for series in gradients.values()], rate, FACTOR)
    after = values(network)
    assert len(gradients) == 5
    for name, series in gradients.items():
        decay = 0.3 if name in MATRICES else 0.0
        expected = textbook(section, before[name].astype(np.float64), series, decay, rate_of(name))
        np.testing.assert_allclose(after[name], expected, rtol=2e-5, atol=2e-5, err_msg=name)


def test_epsilon_is_added_to_the_corrected_moment() -> None:
    """As in the paper and PyTorch; MindSpore's nn.Adam adds it before the correction, which is 32 times as much."""
    network = Normed()
    update = optimizer.build(a_section(opt="adam", eps=1e-3, weight_decay=0.0), network)
    before = values(network)
    gradients = [np.full(parameter.shape, 1e-3) for parameter in network.trainable_params()]
    apply(update, gradients, 1.0)
    for name in MATRICES:
        np.testing.assert_allclose(values(network)[name], before[name] - 0.5, rtol=1e-4, atol=1e-4)


NAMES = {
    "backbone.conv.weight": 4,
    "backbone.conv.bias": 1,
    "backbone.bn.gamma": 1,
    "backbone.bn.beta": 1,
    "backbone.pos_embed": 3,
    "backbone.blocks.0.norm1.weight": 2,
    "backbone.scale": 1,
    "head.weight": 2,
}


@pytest.mark.parametrize(
    ("keys", "spared"),
    [
        ({"filter_bias_and_bn": False}, set()),
        ({}, {"backbone.conv.bias", "backbone.bn.gamma", "backbone.bn.beta"}),
        (
            {"filter_bias_and_bn": False, "grouping_strategy": "filter_norm_and_bias"},
            {"backbone.conv.bias", "backbone.bn.gamma", "backbone.bn.beta"},
        ),
        ({"grouping_strategy": "svtr"}, NAMES.keys() - {"backbone.conv.weight", "head.weight"}),
        ({"no_weight_decay_params": ["pos_embed", "scale"]}, {"backbone.pos_embed", "backbone.scale"}),
    ],
)
def test_named_parameters_are_excluded_on_request(keys: dict[str, Any], spared: set[str]) -> None:
    parameters = some_parameters()
    found = optimizer.decays(a_section(decay_as_named=True, **keys), parameters)
    assert {p.name for p, decay in zip(parameters, found, strict=True) if decay == 0} == spared
    assert {decay for decay in found if decay} == {0.3}


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ({}, ["bias", "beta", "gamma"]),
        ({"filter_bias_and_bn": False}, None),
        ({"filter_bias_and_bn": False, "grouping_strategy": "svtr"}, ["norm", "pos_embed"]),
        ({"filter_bias_and_bn": False, "no_weight_decay_params": ["beta", "scale"]}, ["beta", "scale"]),
    ],
)
def test_parameters_without_weight_decay_match_mindspore(keys: dict[str, Any], named: list[str] | None) -> None:
    """MindOCR's groups in MindSpore's own optimizer: the group of named parameters sets no decay."""
    parameters = some_parameters()
    grouped: list[Any] = parameters
    if named:
        is_named = [any(part in p.name for part in named) for p in parameters]
        others, spared = (
            [p for p, name in zip(parameters, is_named, strict=True) if name is way] for way in (False, True)
        )
        grouped = [{"params": others, "weight_decay": 0.3}, {"params": spared}, {"order_params": parameters}]
    theirs = nn.Momentum(grouped, 0.1, 0.9, weight_decay=0.3)
    expected = [0.3 if flag else 0.0 for flag in theirs.decay_flags]
    assert optimizer.decays(a_section(**keys), parameters) == expected
    assert expected.count(0.0) == (0 if named else 2)


def some_parameters() -> list[Parameter]:
    return [Parameter(Tensor(np.zeros((1,) * ndim, np.float32)), name=name) for name, ndim in NAMES.items()]


def test_a_factor_for_an_unknown_part_is_refused_with_the_known_parts() -> None:
    with pytest.raises(KitError, match=r"optimizer\.lr_factors: no parameter is named haed; did you mean head\?"):
        optimizer.build(a_section(lr_factors={"haed": 0.1}), Normed())


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
def test_three_steps_of_nadam_and_lamb_match_the_paper(opt: str, formula: Any) -> None:
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
