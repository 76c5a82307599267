"""All parameters at once: one vector, one digest."""

import numpy as np
from mindspore import Tensor

from hccl_kit.ocr.train import optimizer, parameters
from hccl_kit.ocr.train.step import TrainStep
from tests.ocr.tiny import OPTIMIZER, Normed, Squares, values


def test_the_digest_covers_every_parameter() -> None:
    network = Normed()
    digests = {parameters.digest(network)}
    for parameter in network.get_parameters():
        changed = parameter.asnumpy().copy()
        changed.flat[-1] = np.nextafter(changed.flat[-1], np.float32(9))
        parameter.set_data(Tensor(changed))
        digests.add(parameters.digest(network))
    assert len(digests) == 1 + len(list(network.get_parameters())) == 8


def test_equal_parameters_have_equal_digests() -> None:
    one, two = Normed(), Normed()
    assert parameters.digest(one) != parameters.digest(two)
    for source, target in zip(one.get_parameters(), two.get_parameters(), strict=True):
        target.set_data(Tensor(source.asnumpy()))
    assert parameters.digest(one) == parameters.digest(two)


def test_a_copy_has_the_trained_parameters_and_does_not_change() -> None:
    network = Normed()
    copied, held = parameters.copy(network), values(network)
    assert copied.keys() == held.keys() - {"stem.1.moving_mean", "stem.1.moving_variance"}
    one, ones = Tensor(np.float32(1)), [Tensor(np.ones(value.shape, np.float32)) for value in copied.values()]
    optimizer.build(OPTIMIZER, network)(one, one, *ones)  # writes into the memory of the parameters
    assert parameters.still(copied, network) == []
    for name, value in copied.items():
        np.testing.assert_array_equal(value, held[name])


def test_a_change_of_the_weights_is_detected() -> None:
    """Biases change at any rate, because they start at 0; a change below the precision of float32 does not count."""
    network = Normed()
    before = parameters.copy(network)
    assert parameters.still(before, network) == ["stem.0.weight", "head.weight"]
    network.head.bias.set_data(Tensor(np.ones(2, np.float32)))
    network.stem[0].weight.set_data(Tensor(before["stem.0.weight"] + np.float32(1e-30)))
    assert parameters.still(before, network) == ["stem.0.weight", "head.weight"]
    moved = before["head.weight"].copy()
    moved[0, 0] += 1e-4
    network.head.weight.set_data(Tensor(moved))
    assert parameters.still(before, network) == ["stem.0.weight"]
    network.stem[0].weight.set_data(Tensor(before["stem.0.weight"] * np.float32(np.nan)))
    assert parameters.still(before, network) == []


def test_the_state_names_every_parameter_once() -> None:
    network = Normed()
    step = TrainStep(network, Squares(), optimizer.build(OPTIMIZER, network))
    names = [parameter.name for parameter in step.state]
    assert len(set(names)) == len(names)
    assert {parameter.name for parameter in network.get_parameters()} < set(names)
    assert {"moments.head.weight", "loss_scale"} <= set(names)
