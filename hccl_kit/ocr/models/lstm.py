"""A bidirectional LSTM with a fast training path on CPU."""

from __future__ import annotations

import mindspore as ms
from mindspore import Tensor, nn, ops


class BidirectionalLSTM(nn.LSTM):
    """nn.LSTM in both directions: a sequence (T, N, C) to (T, N, 2 hidden_size), from states of zero.

    nn.LSTM runs its kernel once for each direction and reverses the sequence for one; on CPU reversing takes a third as
    long as the LSTM. The kernel supports both directions at once, although MindSpore's documentation says otherwise
    (2.10, measured). That path is for training on CPU only: evaluation, export and Ascend use nn.LSTM itself.
    """

    def __init__(self, channels: int, hidden_size: int, *, num_layers: int = 1) -> None:
        super().__init__(channels, hidden_size, num_layers=num_layers, bidirectional=True)
        self.at_once = ms.get_context("device_target") == "CPU"

    def construct(self, sequence: Tensor) -> Tensor:
        if not (self.at_once and self.training):
            return super().construct(sequence)[0]
        zeros = ops.zeros((2, sequence.shape[1], self.hidden_size), sequence.dtype)
        for layer in range(self.num_layers):
            lstm = ops.LSTM(sequence.shape[2], self.hidden_size, 1, True, True, 0.0)
            sequence = lstm(sequence, zeros, zeros, self._weights(2 * layer, 2 * layer + 1))[0]
        return sequence

    def _weights(self, forwards: int, backwards: int) -> Tensor:
        """All weights of a layer in one tensor, in the layout of the kernel."""
        return ops.concat(
            (
                ops.reshape(self.w_ih_list[forwards], (-1, 1, 1)),
                ops.reshape(self.w_ih_list[backwards], (-1, 1, 1)),
                ops.reshape(self.w_hh_list[forwards], (-1, 1, 1)),
                ops.reshape(self.w_hh_list[backwards], (-1, 1, 1)),
                ops.reshape(self.b_ih_list[forwards] + self.b_hh_list[forwards], (-1, 1, 1)),
                ops.reshape(self.b_ih_list[backwards] + self.b_hh_list[backwards], (-1, 1, 1)),
            )
        )
