"""A bidirectional LSTM without initial states."""

from __future__ import annotations

from mindspore import Tensor, nn


class BidirectionalLSTM(nn.LSTM):
    """nn.LSTM in both directions: a sequence (T, N, C) to (T, N, 2 hidden_size), from states of zero."""

    def __init__(self, channels: int, hidden_size: int, *, num_layers: int = 1) -> None:
        super().__init__(channels, hidden_size, num_layers=num_layers, bidirectional=True)

    def construct(self, sequence: Tensor) -> Tensor:
        return super().construct(sequence)[0]
