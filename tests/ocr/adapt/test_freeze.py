"""Frozen parameters do not change at all."""

import numpy as np
import pytest
from mindspore import Tensor

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.adapt.freeze import batch_norms, freeze, freeze_batch_norm, synchronise
from hccl_kit.ocr.train import optimizer
from hccl_kit.ocr.train.step import TrainStep
from tests.ocr.tiny import OPTIMIZER, Linear, Normed, Squares, batch, values

ADAMW = {**OPTIMIZER, "opt": "adamw", "weight_decay": 0.1, "filter_bias_and_bn": False}
SHAPE = (4, 1, 4, 4)


def moved(network: Normed) -> set[str]:
    """The parameters that change in two steps."""
    step = TrainStep(network, Squares(), optimizer.build(ADAMW, network))
    before = values(network)
    for n in range(2):
        step(batch(SHAPE, n), 0.1)
    return {name for name, value in values(network).items() if not np.array_equal(value, before[name])}


def test_all_parameters_change_if_none_is_frozen() -> None:
    assert moved(Normed()) == values(Normed()).keys()


@pytest.mark.parametrize("prefix", ["stem", "stem."])
def test_a_frozen_part_keeps_its_weights_and_statistics(prefix: str) -> None:
    network = Normed()
    assert freeze(network, [prefix]) == 3
    assert moved(network) == {"head.weight", "head.bias"}


def test_a_prefix_matches_complete_parts_of_a_name() -> None:
    network = Normed()
    assert freeze(network, ["stem.1.gamma", "head.bias"]) == 2
    assert "stem.1.beta" in moved(network)
    network = Normed()
    with pytest.raises(KitError, match=r"no parameter is named ste; did you mean stem\?"):
        freeze(network, ["ste"])


def test_an_unknown_prefix_is_refused_with_the_available_ones() -> None:
    network = Normed()
    with pytest.raises(KitError) as caught:
        freeze(network, ["head", "backbone"])
    assert "backbone" in caught.value.message
    assert caught.value.hint == "the parts of this network are stem, head"
    assert len(network.trainable_params()) == 5  # all or nothing


def test_freezing_all_parameters_is_refused() -> None:
    with pytest.raises(KitError, match="stem, head leave nothing to train"):
        freeze(Normed(), ["stem", "head"])


def test_every_batch_norm_is_found() -> None:
    assert [norm.gamma.name for norm in batch_norms(Normed())] == ["stem.1.gamma"]
    assert list(batch_norms(Linear())) == []


def test_frozen_layers_behave_in_training_as_in_evaluation() -> None:
    network, images = Normed(), Tensor(batch((4, 1, 4, 4)).images)
    network.set_train(False)
    evaluated = network(images).asnumpy()
    freeze_batch_norm(network)
    before = values(network)
    network.set_train(True)
    np.testing.assert_allclose(network(images).asnumpy(), evaluated, rtol=1e-6)
    for name, value in values(network).items():
        np.testing.assert_array_equal(value, before[name], name)


@pytest.mark.parametrize(("target", "size", "said"), [("CPU", 2, True), ("CPU", 1, False), ("Ascend", 1, False)])
def test_layers_that_cannot_be_synchronised_are_reported(target: str, size: int, said: bool) -> None:
    network = Normed()
    operator = network.stem[1].bn_train
    word = synchronise(network, target, size)
    assert network.stem[1].bn_train is operator
    assert (word is not None) == said
    assert word is None or "CPU has no SyncBatchNorm" in word
