"""Both directions at once match nn.LSTM, and are used only in training."""

from pathlib import Path

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor, nn

from hccl_kit.ocr.cpu import lstm
from hccl_kit.ocr.models.lstm import BidirectionalLSTM
from tests.ocr.differentiated import found

STEPS, COUNT, CHANNELS, HIDDEN = 5, 3, 4, 6
SHAPE = (STEPS, COUNT, CHANNELS)


@pytest.mark.parametrize("layers", [1, 2])
def test_values_and_gradients_match_two_separate_directions(layers: int) -> None:
    at_once, apart = (BidirectionalLSTM(CHANNELS, HIDDEN, num_layers=layers) for _ in range(2))
    names = [parameter.name for parameter in at_once.get_parameters()]
    lstm.replace(at_once, Path())
    assert [parameter.name for parameter in at_once.get_parameters()] == names
    ms.load_param_into_net(apart, at_once.parameters_dict())
    compiled = found(at_once, SHAPE)
    assert len(compiled) == 2 + 8 * layers
    for ours, plain in zip(compiled, found(apart, SHAPE), strict=True):
        np.testing.assert_allclose(ours, plain, rtol=1e-5, atol=1e-7)


def test_a_graph_for_evaluation_is_compiled() -> None:
    cell = BidirectionalLSTM(CHANNELS, HIDDEN)
    sequence = Tensor(np.ones(SHAPE, np.float32))
    plain = cell.set_train(False)(sequence).asnumpy()
    lstm.replace(cell, Path())
    np.testing.assert_allclose(cell.set_train(False)(sequence).asnumpy(), plain, rtol=1e-5)


@pytest.mark.usefixtures("pynative")
@pytest.mark.parametrize("training", [True, False])
def test_evaluation_uses_nn_lstm(training: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = BidirectionalLSTM(CHANNELS, HIDDEN)
    lstm.replace(cell, Path())
    calls: list[str] = []
    plain = nn.LSTM.construct

    def counted(self: nn.LSTM, sequence: Tensor) -> Tensor:
        calls.append("plain")
        return plain(self, sequence)

    monkeypatch.setattr(nn.LSTM, "construct", counted)
    assert cell.set_train(training)(Tensor(np.zeros(SHAPE, np.float32))).shape == (STEPS, COUNT, 2 * HIDDEN)
    assert calls == ([] if training else ["plain"])
