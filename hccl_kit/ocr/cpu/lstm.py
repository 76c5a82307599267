"""Both directions of an LSTM by one call of MindSpore's kernel.

nn.LSTM runs the kernel once for each direction and reverses the sequence for one; on CPU reversing takes a third as
long as the LSTM. The kernel supports both directions at once, although MindSpore's documentation says otherwise (2.10,
measured).
"""

from __future__ import annotations

from pathlib import Path

from mindspore import Tensor, nn, ops

from hccl_kit.ocr.models.lstm import BidirectionalLSTM


class BothDirections(nn.LSTM):
    """BidirectionalLSTM, faster in training.

    It is not derived from that: in a graph, super() of an inherited method is the parent of the class of the cell.
    """

    def construct(self, sequence: Tensor) -> Tensor:
        if not self.training:
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


def replace(network: nn.Cell, _: Path) -> None:
    """Let the LSTMs of `network` run both directions at once."""
    for _, cell in network.cells_and_names():
        if type(cell) is BidirectionalLSTM:
            cell.__class__ = BothDirections  # a new cell would need its parameters, whose names would change
