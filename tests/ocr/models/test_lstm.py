"""Both directions at once match nn.LSTM, and are used only for training on CPU."""

from __future__ import annotations

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor

from hccl_kit.ocr.models.lstm import BidirectionalLSTM
from tests.ocr.differentiated import found

STEPS, COUNT, CHANNELS, HIDDEN = 5, 3, 4, 6
SHAPE = (STEPS, COUNT, CHANNELS)


@pytest.mark.parametrize("layers", [1, 2])
def test_values_and_gradients_match_two_separate_directions(layers: int) -> None:
    at_once, apart = (BidirectionalLSTM(CHANNELS, HIDDEN, num_layers=layers) for _ in range(2))
    apart.at_once = False
    ms.load_param_into_net(apart, at_once.parameters_dict())
    compiled = found(at_once, SHAPE)
    assert len(compiled) == 2 + 8 * layers
    for one, other in zip(compiled, found(apart, SHAPE), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-7)


@pytest.mark.usefixtures("pynative")
@pytest.mark.parametrize(("training", "device"), [(True, "CPU"), (False, "CPU"), (True, "Ascend")])
def test_evaluation_export_and_ascend_use_nn_lstm(training: bool, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lstm = BidirectionalLSTM(CHANNELS, HIDDEN)
    lstm.at_once = _says(device, monkeypatch)
    lstm.set_train(training)
    packed: list[tuple[int, ...]] = []
    pack = lstm._weights

    def counted(_: BidirectionalLSTM, *directions: int) -> Tensor:
        packed.append(directions)
        return pack(*directions)

    monkeypatch.setattr(BidirectionalLSTM, "_weights", counted)
    assert lstm(Tensor(np.zeros(SHAPE, np.float32))).shape == (STEPS, COUNT, 2 * HIDDEN)
    assert packed == ([(0, 1)] if training and device == "CPU" else [])


def _says(device: str, monkeypatch: pytest.MonkeyPatch) -> bool:
    """The implementation of a network that is built for `device`; nn.LSTM itself cannot be built for others here."""
    with monkeypatch.context() as patch:
        patch.setattr(ms, "get_context", lambda _: device)
        return BidirectionalLSTM(CHANNELS, HIDDEN).at_once
