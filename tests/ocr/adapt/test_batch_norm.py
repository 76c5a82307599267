"""Frozen batch normalisation keeps its statistics; a synchronised one needs Ascend, elsewhere a note is printed."""

import numpy as np
import pytest
from mindspore import Tensor

from hccl_kit.ocr.adapt.batch_norm import batch_norms, freeze_batch_norm, synchronise
from tests.ocr.tiny import Linear, Normed, batch, values


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
