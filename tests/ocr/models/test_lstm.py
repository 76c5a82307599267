"""Both directions at once are nn.LSTM, and only where somebody trains on CPU."""

from __future__ import annotations

from typing import Any

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor, nn, ops
from numpy.typing import NDArray

from hccl_kit.ocr.models.lstm import BidirectionalLSTM

STEPS, COUNT, CHANNELS, HIDDEN = 5, 3, 4, 6


class Gradients(nn.Cell):
    """The gradients of a sequence and of all weights, for a gradient of what `network` gives."""

    def __init__(self, network: nn.Cell) -> None:
        super().__init__(auto_prefix=False)
        self.differentiate = ops.GradOperation(get_all=True, get_by_list=True, sens_param=True)(
            network, network.trainable_params()
        )

    def construct(self, sequence: Tensor, gradient: Tensor) -> Any:
        return self.differentiate(sequence, gradient)


@pytest.mark.parametrize("layers", [1, 2])
def test_values_and_gradients_are_those_of_one_direction_after_the_other(layers: int) -> None:
    at_once, apart = (BidirectionalLSTM(CHANNELS, HIDDEN, num_layers=layers) for _ in range(2))
    apart.at_once = False
    ms.load_param_into_net(apart, at_once.parameters_dict())
    compiled = _found(at_once)
    assert len(compiled) == 2 + 8 * layers
    for one, other in zip(compiled, _found(apart), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-7)


@pytest.mark.usefixtures("pynative")
@pytest.mark.parametrize(("training", "device"), [(True, "CPU"), (False, "CPU"), (True, "Ascend")])
def test_evaluation_export_and_ascend_have_the_lstm_itself(
    training: bool, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lstm = BidirectionalLSTM(CHANNELS, HIDDEN)
    lstm.at_once = _says(device, monkeypatch)
    lstm.set_train(training)
    packed: list[tuple[int, ...]] = []
    pack = lstm._weights

    def counted(_: BidirectionalLSTM, *directions: int) -> Tensor:
        packed.append(directions)
        return pack(*directions)

    monkeypatch.setattr(BidirectionalLSTM, "_weights", counted)
    assert lstm(Tensor(np.zeros((STEPS, COUNT, CHANNELS), np.float32))).shape == (STEPS, COUNT, 2 * HIDDEN)
    assert packed == ([(0, 1)] if training and device == "CPU" else [])


def _says(device: str, monkeypatch: pytest.MonkeyPatch) -> bool:
    """What a network that is built on `device` computes with; nn.LSTM itself cannot be built for another one here."""
    with monkeypatch.context() as patch:
        patch.setattr(ms, "get_context", lambda _: device)
        return BidirectionalLSTM(CHANNELS, HIDDEN).at_once


def _found(lstm: nn.Cell) -> list[NDArray[np.float32]]:
    """What `lstm` gives for a sequence, and the gradients of the sequence and of every weight."""
    draw = np.random.default_rng(7).standard_normal
    sequence = Tensor(draw((STEPS, COUNT, CHANNELS)).astype(np.float32))
    gradient = Tensor(draw((STEPS, COUNT, 2 * HIDDEN)).astype(np.float32))
    lstm.set_train(True)
    of_sequence, of_weights = Gradients(lstm)(sequence, gradient)
    return [array.asnumpy() for array in (lstm(sequence), *of_sequence, *of_weights)]
