"""One training step: the gradient is right, clipped where asked, and thrown away where it is not finite."""

from dataclasses import replace
from typing import Any

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor, nn

from hccl_kit.ocr import checkpoint, optimizer, parameters
from hccl_kit.ocr.step import TrainStep, freeze_batch_norm
from tests.ocr.tiny import Linear, Normed, Squares, batch, values

SGD: dict[str, Any] = {"opt": "sgd", "weight_decay": 0.0, "filter_bias_and_bn": True}
ADAMW: dict[str, Any] = {"opt": "adamw", "weight_decay": 0.1, "filter_bias_and_bn": True}
LINEAR, NORMED = (4, 1, 1, 3), (4, 1, 4, 4)


def step_of(network: nn.Cell, section: dict[str, Any] = SGD, *, clip_norm: float | None = None) -> TrainStep:
    return TrainStep(network, Squares(), optimizer.build(section, network), size=1, clip_norm=clip_norm)


@pytest.mark.parametrize("clip_norm", [None, 0.25, 1e6])
def test_a_step_of_sgd_is_minus_rate_times_clipped_gradient(clip_norm: float | None) -> None:
    network, data = Linear(), batch(LINEAR)
    before = values(network)
    weight, bias = before["head.weight"], before["head.bias"]
    images = data.images.reshape(4, 3)
    difference = images @ weight.T + bias - data.labels
    slope = 2 * difference / difference.size
    gradient = {"head.weight": slope.T @ images, "head.bias": slope.sum(axis=0)}
    norm = float(np.sqrt(sum((part**2).sum() for part in gradient.values())))
    result = step_of(network, clip_norm=clip_norm)(data, 0.5)
    assert result.loss == pytest.approx(float((difference**2).mean()), rel=1e-5)
    assert result.norm == pytest.approx(norm, rel=1e-5)
    assert norm > 0.25
    factor = min(1.0, clip_norm / norm) if clip_norm else 1.0
    for name, value in values(network).items():
        np.testing.assert_allclose(value, before[name] - 0.5 * factor * gradient[name], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_gradient_that_is_not_finite_leaves_the_weights(bad: float) -> None:
    network, data = Linear(), batch(LINEAR)
    step = step_of(network, ADAMW)
    step(data, 0.1)
    before = [parameter.asnumpy().copy() for parameter in parameters.state(network, step)]
    images = data.images.copy()
    images[0, 0, 0, 0] = bad
    result = step(replace(data, images=images), 0.1)
    assert not result.finite
    for parameter, value in zip(parameters.state(network, step), before, strict=True):
        np.testing.assert_array_equal(parameter.asnumpy(), value, parameter.name)
    assert step(data, 0.1).finite


def test_batch_norm_learns_statistics_in_training_only() -> None:
    network, data = Normed(), batch(NORMED)
    step_of(network)(data, 0.1)
    after = values(network)
    assert (after["stem.1.moving_mean"] != 0).any()
    assert (after["stem.1.moving_variance"] != 1).any()
    network.set_train(False)
    network(Tensor(data.images))
    np.testing.assert_array_equal(network.stem[1].moving_mean.asnumpy(), after["stem.1.moving_mean"])


def test_frozen_batch_norm_is_that_of_the_evaluation() -> None:
    network, data = Normed(), batch(NORMED)
    generator = np.random.default_rng(2)
    network.stem[1].moving_mean.set_data(Tensor(generator.standard_normal(3).astype(np.float32)))
    network.stem[1].moving_variance.set_data(Tensor(generator.uniform(0.5, 2, 3).astype(np.float32)))
    network.set_train(False)
    evaluated = network(Tensor(data.images)).asnumpy()
    free = Normed()
    ms.load_param_into_net(free, network.parameters_dict())
    before = values(network)
    freeze_batch_norm(network)
    loss = step_of(network)(data, 0.1).loss
    assert loss == pytest.approx(float(((evaluated - data.labels) ** 2).mean()), rel=1e-5)
    after = values(network)
    for name in ("stem.1.moving_mean", "stem.1.moving_variance"):
        np.testing.assert_array_equal(after[name], before[name])
    assert (after["stem.1.gamma"] != before["stem.1.gamma"]).any()
    assert step_of(free)(data, 0.1).loss != pytest.approx(loss, rel=1e-3)


def test_checkpoints_hold_the_names_of_the_network(tmp_path: Any) -> None:
    """Cells around the network once put their own name before them."""
    network = Normed()
    names = [parameter.name for parameter in network.get_parameters()]
    assert names[0] == "stem.0.weight"
    step = step_of(network, ADAMW)
    step(batch(NORMED), 0.1)
    assert [parameter.name for parameter in network.get_parameters()] == names
    checkpoint.save(tmp_path / "resume.ckpt", parameters.state(network, step))
    saved = list(ms.load_checkpoint(str(tmp_path / "resume.ckpt")))
    assert saved[: len(names)] == names
    trained = [parameter.name for parameter in network.trainable_params()]
    assert {f"{moment}.{name}" for moment in ("moment1", "moment2") for name in trained} <= set(saved)
    assert not [name for name in saved if name.startswith(("network.", "forward.", "optimizer.", "update."))]


def test_a_resumed_step_is_the_uninterrupted_one(tmp_path: Any) -> None:
    """Adam's moments and its count of steps travel with the weights."""
    one = Normed()
    step = step_of(one, ADAMW)
    for n in range(2):
        step(batch(NORMED, n), 0.1)
    checkpoint.save(tmp_path / "resume.ckpt", parameters.state(one, step), checkpoint.Progress(2))
    step(batch(NORMED, 2), 0.1)

    two = Normed()
    again = step_of(two, ADAMW)
    assert checkpoint.load(tmp_path / "resume.ckpt", parameters.state(two, again)).step == 2
    again(batch(NORMED, 2), 0.1)
    assert parameters.digest(two) == parameters.digest(one)
