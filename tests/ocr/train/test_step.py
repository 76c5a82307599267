"""One training step: the gradient is correct, clipped on request, and discarded if it is not finite."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor, nn, ops
from numpy.typing import NDArray

from hccl_kit.ocr.adapt.freeze import freeze_batch_norm
from hccl_kit.ocr.adapt.precision import Scaling
from hccl_kit.ocr.checkpoints import checkpoint
from hccl_kit.ocr.models.dropout import Dropout
from hccl_kit.ocr.train import checks, optimizer, parameters
from hccl_kit.ocr.train.join import Arrays, Average, DeviceJoin, Flatten, HostJoin, Unflatten, statistics
from hccl_kit.ocr.train.step import TrainStep
from hccl_kit.ocr.train.weights_in_use import Ema
from tests.ocr.tiny import OPTIMIZER, Linear, Normed, Squares, batch, values

SGD: dict[str, Any] = {**OPTIMIZER, "opt": "sgd", "momentum": 0.0}
ADAMW: dict[str, Any] = {**OPTIMIZER, "opt": "adamw", "weight_decay": 0.1}
LINEAR, NORMED = (4, 1, 1, 3), (4, 1, 4, 4)


def step_of(network: nn.Cell, section: dict[str, Any] = SGD, **options: Any) -> TrainStep:
    return TrainStep(network, Squares(), optimizer.build(section, network), **options)


def state(network: nn.Cell, step: TrainStep) -> dict[str, NDArray[Any]]:
    """A copy of the complete resumable state."""
    return {parameter.name: parameter.asnumpy().copy() for parameter in step.state}


def alike(kind: type[nn.Cell], count: int) -> list[nn.Cell]:
    """`count` networks with the same weights in separate memory."""
    networks = [kind() for _ in range(count)]
    for first, *others in zip(*(network.get_parameters() for network in networks), strict=True):
        for other in others:
            other.set_data(Tensor(first.asnumpy().copy()))
    return networks


@pytest.mark.parametrize("clip_norm", [None, 0.25, 1e6])
def test_a_step_of_sgd_is_minus_rate_times_clipped_gradient(clip_norm: float | None) -> None:
    network, data = Linear(), batch(LINEAR)
    before = values(network)
    weight, bias = before["head.weight"], before["head.bias"]
    images = data.images.reshape(4, 3)
    difference = images @ weight.T + bias - data.targets[0]
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
    before = [parameter.asnumpy().copy() for parameter in step.state]
    images = data.images.copy()
    images[0, 0, 0, 0] = bad
    result = step(replace(data, images=images), 0.1)
    assert not result.finite
    for parameter, value in zip(step.state, before, strict=True):
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


def test_frozen_batch_norm_behaves_like_in_evaluation() -> None:
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
    assert loss == pytest.approx(float(((evaluated - data.targets[0]) ** 2).mean()), rel=1e-5)
    after = values(network)
    for name in ("stem.1.moving_mean", "stem.1.moving_variance"):
        np.testing.assert_array_equal(after[name], before[name])
    assert (after["stem.1.gamma"] != before["stem.1.gamma"]).any()
    assert step_of(free)(data, 0.1).loss != pytest.approx(loss, rel=1e-3)


def test_checkpoints_have_the_parameter_names_of_the_network(tmp_path: Any) -> None:
    """Wrapper cells once added their own prefix."""
    network = Normed()
    names = [parameter.name for parameter in network.get_parameters()]
    assert names[0] == "stem.0.weight"
    step = step_of(network, ADAMW)
    step(batch(NORMED), 0.1)
    assert [parameter.name for parameter in network.get_parameters()] == names
    checkpoint.save(tmp_path / "resume.ckpt", step.state)
    rows = ms.load_checkpoint(str(tmp_path / "resume.ckpt"))
    saved = [name for name in rows if not name.startswith(checkpoint.OURS)]
    assert saved[: len(names)] == names
    trained = [parameter.name for parameter in network.trainable_params()]
    assert {f"{moment}.{name}" for moment in ("moment1", "moment2") for name in trained} <= set(saved)
    assert not [name for name in saved if name.startswith(("network.", "forward.", "optimizer.", "update."))]


def test_a_resumed_step_equals_the_uninterrupted_one(tmp_path: Any) -> None:
    """Adam's moments and step count are saved with the weights."""
    one = Normed()
    step = step_of(one, ADAMW)
    for n in range(2):
        step(batch(NORMED, n), 0.1)
    checkpoint.save(tmp_path / "resume.ckpt", step.state, checkpoint.Progress(2))
    step(batch(NORMED, 2), 0.1)

    two = Normed()
    again = step_of(two, ADAMW)
    assert checkpoint.load(tmp_path / "resume.ckpt", again.state).step == 2
    again(batch(NORMED, 2), 0.1)
    assert parameters.digest(two) == parameters.digest(one)


class Dropping(Linear):
    """Linear with half of its input dropped."""

    def __init__(self) -> None:
        super().__init__()
        self.dropout = Dropout(0.5)

    def construct(self, images: Tensor) -> Tensor:
        return self.head(self.dropout(ops.reshape(images, (-1, 3))))


class Told(nn.Cell):
    """Images (N, 1, 1, 3) and labels (N, 2) to the labels plus a small contribution of the images."""

    guided = True

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Dense(3, 2)

    def construct(self, images: Tensor, labels: Tensor, lengths: Tensor) -> Tensor:
        return ops.cast(labels, images.dtype) + 0.5 * self.head(ops.reshape(images, (-1, 3)))


def test_a_guided_network_gets_targets_and_images() -> None:
    """Its output for the labels themselves has no loss."""
    network, data = Told(), batch(LINEAR)
    said = 0.5 * (data.images.reshape(4, 3) @ values(network)["head.weight"].T + values(network)["head.bias"])
    assert step_of(network)(data, 0.1).loss == pytest.approx(float((said**2).mean()), rel=1e-4)


def test_the_seed_of_a_step_determines_the_random_numbers_of_the_network() -> None:
    """Two networks in one process have keys with different names; their weights must still be equal."""
    networks = alike(Dropping, 3)
    for network, seed in zip(networks, ((42, 7, 0), (42, 7, 0), (42, 8, 0)), strict=True):
        step_of(network)(batch((64, 1, 1, 3)), 0.1, seed=seed)
    one, same, other = (parameters.digest(network) for network in networks)
    assert one == same != other


def test_each_part_of_a_batch_has_its_own_random_numbers() -> None:
    """The two parts have the same rows; with the same random numbers the gradient would be that of one part."""
    part = batch((64, 1, 1, 3))
    both = replace(
        part, images=np.tile(part.images, (2, 1, 1, 1)), targets=tuple(np.concatenate([t, t]) for t in part.targets)
    )
    one, two = alike(Dropping, 2)
    step_of(one)(part, 0.1)
    step_of(two, accumulate=2)(both, 0.1)
    assert parameters.digest(one) != parameters.digest(two)


def test_a_batch_in_parts_has_the_gradient_of_the_whole() -> None:
    whole, parts = alike(Linear, 2)
    data = batch((12, 1, 1, 3))
    one = step_of(whole, clip_norm=0.5)(data, 0.1)
    other = step_of(parts, clip_norm=0.5, accumulate=3)(data, 0.1)
    assert (other.loss, other.norm) == pytest.approx((one.loss, one.norm), rel=1e-6)
    for left, right in zip(whole.get_parameters(), parts.get_parameters(), strict=True):
        np.testing.assert_allclose(right.asnumpy(), left.asnumpy(), rtol=1e-6, atol=1e-7)


def test_the_loss_scale_does_not_change_the_weights() -> None:
    """Bit for bit: a power of two only changes the exponent."""
    plain, scaled = alike(Normed, 2)
    results = [
        [step(batch(NORMED, n), 0.1) for n in range(2)]
        for step in (
            step_of(plain, ADAMW, clip_norm=0.5),
            step_of(scaled, ADAMW, clip_norm=0.5, scaling=Scaling(initial=1024.0)),
        )
    ]
    assert parameters.digest(plain) == parameters.digest(scaled)
    assert [result.norm for result in results[0]] == [result.norm for result in results[1]]
    assert {result.scale for result in results[1]} == {1024.0}


def test_an_overflow_is_skipped_and_lowers_the_scale() -> None:
    network, data = Linear(), batch(LINEAR)
    scaling = Scaling(dynamic=True, initial=2.0**120, factor=2.0**60)
    step = step_of(network, ADAMW, scaling=scaling)
    before = state(network, step)
    result = step(data, 0.1)
    assert result.skipped
    assert not result.finite
    assert result.scale == 2.0**120
    after = state(network, step)
    changed = {name for name in before if not np.array_equal(before[name], after[name])}
    assert changed == {"loss_scale", "loss_scale_counts"}
    second = step(data, 0.1)
    assert second.finite
    assert not second.skipped
    assert second.scale == 2.0**60


def test_an_overflow_that_no_scale_fixes_is_not_skipped() -> None:
    network, data = Linear(), batch(LINEAR)
    step = step_of(network, scaling=Scaling(dynamic=True, initial=512.0, drop=True))
    images = data.images.copy()
    images[0, 0, 0, 0] = np.nan
    result = step(replace(data, images=images), 0.1)
    assert not result.finite
    assert not result.skipped
    assert step.loss_scale.read().skipped == 0


@pytest.mark.parametrize(
    ("scaling", "message"),
    [
        (Scaling(dynamic=True, initial=2.0**120, factor=2.0**60), "update skipped, scale lowered to 1.15292e+18"),
        (Scaling(initial=2.0**120, drop=True), "update skipped"),
    ],
    ids=["dynamic", "fixed"],
)
def test_the_log_says_that_the_scale_is_lowered_only_if_it_is(scaling: Scaling, message: str) -> None:
    network, data, log = Linear(), batch(LINEAR), Mock()
    result = step_of(network, ADAMW, scaling=scaling)(data, 0.1)
    checks.assert_finite(Mock(log=log), result, data, step=6)
    log.say.assert_called_once_with(f"step 7 overflowed with loss scale 1.32923e+36: {message}")


class OnDevice(DeviceJoin):
    """Two ranks of which the other one gives what `total` adds, in the framework's vector."""

    def __init__(self, network: nn.Cell, total: Callable[[Arrays, Arrays], None]) -> None:
        super().__init__(network, 2)
        self.shapes = [(), *(one.shape for one in (*network.trainable_params(), *statistics(network)))]
        self.total = total
        self.all_reduce = self.reduced

    def reduced(self, vector: Tensor) -> Tensor:
        ends = np.cumsum([math.prod(shape) for shape in self.shapes])
        pieces = np.split(vector.asnumpy(), ends[:-1])
        given = [piece.reshape(shape) for piece, shape in zip(pieces, self.shapes, strict=True)]
        sums = [np.empty_like(one) for one in given]
        self.total(given, sums)
        return Tensor(np.concatenate([one.reshape(-1) for one in sums]))


def on_host(network: nn.Cell, total: Callable[[Arrays, Arrays], None]) -> HostJoin:
    return HostJoin(network, 2, total)


def doubled(given: Arrays, sums: Arrays) -> None:
    """The other rank has the same values."""
    for one, into in zip(given, sums, strict=True):
        np.add(one, one, out=into)


@pytest.mark.parametrize("join_of", [OnDevice, on_host])
def test_ranks_with_equal_data_take_the_step_of_a_single_rank(join_of: Any) -> None:
    """Bit for bit, including statistics; the sum over two equal ranks is twice that of one."""
    alone, joint = alike(Normed, 2)
    results = [
        [step(batch(NORMED, n), 0.1) for n in range(2)]
        for step in (
            step_of(alone, ADAMW, clip_norm=0.5),
            step_of(joint, ADAMW, clip_norm=0.5, join=join_of(joint, doubled)),
        )
    ]
    assert parameters.digest(alone) == parameters.digest(joint)
    assert [(r.loss, r.norm) for r in results[0]] == [(r.loss, r.norm) for r in results[1]]
    assert results[0][1].communication_s == 0
    assert results[1][1].communication_s > 0


@pytest.mark.parametrize("join_of", [OnDevice, on_host])
def test_the_gradient_is_the_mean_over_the_ranks(join_of: Any) -> None:
    """The other rank has a gradient of zero, a loss of 4 and different statistics."""
    alone, joint = alike(Normed, 2)
    one = step_of(alone)(batch(NORMED), 0.1)
    gradients = len(joint.trainable_params())

    def total(given: Arrays, sums: Arrays) -> None:
        others = [4.0, *[0.0] * gradients, *[10.0] * 2]
        for one, other, into in zip(given, others, sums, strict=True):
            np.add(one, other, out=into)

    before = values(joint)
    result = step_of(joint, join=join_of(joint, total))(batch(NORMED), 0.1)
    assert result.norm == pytest.approx(one.norm / 2, rel=1e-6)
    assert result.loss == pytest.approx((one.loss + 4) / 2)
    after = values(joint)
    for name, value in values(alone).items():
        expected = (value + 10) / 2 if "moving" in name else (before[name] + value) / 2
        np.testing.assert_allclose(after[name], expected, rtol=1e-5, atol=1e-6, err_msg=name)


class HalfUsed(Linear):
    """A network with an unused layer."""

    def __init__(self) -> None:
        super().__init__()
        self.spare = nn.Dense(3, 2)


def test_parameters_without_gradient_are_named() -> None:
    step = step_of(HalfUsed())
    assert step.without_gradient == []
    step(batch(LINEAR), 0.1)
    assert step.without_gradient == ["spare.weight", "spare.bias"]


def test_a_single_nonzero_gradient_is_sufficient() -> None:
    """Layers before weights that start at 0 get no gradient in the first step."""
    network = Linear()
    step = step_of(network)
    dark = batch(LINEAR)
    step(replace(dark, images=np.zeros_like(dark.images)), 0.1)
    assert step.without_gradient == ["head.weight"]
    step(dark, 0.1)
    assert step.without_gradient == []


def test_pynative_mode_takes_the_steps_of_graph_mode() -> None:
    graph, native = alike(Normed, 2)
    options: dict[str, Any] = {"clip_norm": 0.5, "accumulate": 2}
    step = step_of(graph, ADAMW, **options)
    for n in range(2):
        step(batch(NORMED, n), 0.1)
    ms.set_context(mode=ms.PYNATIVE_MODE)
    try:
        step = step_of(native, ADAMW, **options)
        for n in range(2):
            step(batch(NORMED, n), 0.1)
    finally:
        ms.set_context(mode=ms.GRAPH_MODE)
    for left, right in zip(graph.get_parameters(), native.get_parameters(), strict=True):
        np.testing.assert_allclose(right.asnumpy(), left.asnumpy(), rtol=1e-4, atol=1e-5, err_msg=left.name)


def unregistered(cell: nn.Cell) -> list[str]:
    """The parameters in attributes of a cell and its children that it does not list."""
    held = [value for _, part in cell.cells_and_names() for value in vars(part).values()]
    flat = [one for value in held for one in (value if type(value) in (tuple, list) else (value,))]
    listed = set(map(id, cell.get_parameters()))
    return [one.name for one in flat if isinstance(one, ms.Parameter) and id(one) not in listed]


def test_every_cell_registers_the_parameters_that_it_uses() -> None:
    """A graph from the cache has a copy of all others: see `ocr.cpu.kept_graphs`."""
    network = Normed()
    joins = DeviceJoin(network, 2), on_host(network, doubled)
    steps = [step_of(network, join=join, ema=Ema(network, 0.9)) for join in joins]
    cells = [step.compute for step in steps] + [cell for step in steps for cell in step.parts.values()]
    assert {type(cell) for cell in cells} >= {Flatten, Unflatten, Average, Ema}
    assert not [name for cell in cells for name in unregistered(cell)]
    names = [list(cell.parameters_dict()) for cell in (joins[0].flatten, joins[0].unflatten, joins[1].average)]
    assert names == [["stem.1.moving_mean", "stem.1.moving_variance"]] * 3


def test_dropout_keys_are_only_registered_by_the_step() -> None:
    """With names that are the same in every process: a graph from the cache finds its parameters by name."""
    networks = alike(Dropping, 2)
    for network in networks:
        compute = step_of(network).compute
        assert not unregistered(compute)
        assert compute.parameters_dict().keys() == {"head.weight", "head.bias", "dropout_key_of_network_0"}
        assert network.parameters_dict().keys() == {"head.weight", "head.bias"}
