"""Dropout whose draws follow from a key that the training step sets: what is resumed drops what it would have dropped.

The framework's own keeps a random state inside its kernels, which nobody can save.
"""

from __future__ import annotations

from itertools import count

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn, ops

_NUMBERS = count()


class Dropout(nn.Cell):
    """In training, zero for a part `rate` of the values, and more of the others, so that the mean stays.

    After Srivastava et al. 2014, "Dropout: A Simple Way to Prevent Neural Networks from Overfitting". Which values are
    zero follows from the shape and the key alone, see `draw`.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate
        self.threshold = round(rate * 2**32) - 2**31
        self.scale = 1 / (1 - rate)
        # Past nn.Cell, which would list the key with the parameters that checkpoints hold. Keys of one graph may not
        # share a name.
        key = Parameter(Tensor(np.int32(0)), name=f"dropout_key_{next(_NUMBERS)}", requires_grad=False)
        object.__setattr__(self, "key", key)

    def construct(self, x: Tensor) -> Tensor:
        if not self.training or not self.rate:
            return x
        columns = x.shape[-1]
        rows = 1
        for size in x.shape[:-1]:
            rows = rows * size
        # A number for each row and each column, hashed with care; a cheap permutation of their sum for each value.
        numbers = _mixed(ms.numpy.arange(rows + columns, dtype=ms.int32) + self.key)
        place = ops.reshape(numbers[:rows], (rows, 1)) + ops.reshape(numbers[rows:], (1, columns))
        keep = place * (place + place + 1) >= self.threshold
        return x * ops.reshape(ops.cast(keep, x.dtype) * self.scale, x.shape)


class DropPath(nn.Cell):
    """In training, leaves a branch (N, P, C) out for a part `rate` of the samples and scales it up for the others.

    After Huang et al. 2016, "Deep Networks with Stochastic Depth".
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.dropout = Dropout(rate)

    def construct(self, x: Tensor) -> Tensor:
        if not self.training or not self.dropout.rate:
            return x
        return x * self.dropout(ops.ones((x.shape[0], 1, 1), x.dtype))


def cells(network: nn.Cell) -> tuple[Dropout, ...]:
    """Every Dropout of a network that drops something."""
    return tuple(cell for _, cell in network.cells_and_names() if isinstance(cell, Dropout) and cell.rate)


def draw(dropouts: tuple[Dropout, ...], generator: np.random.Generator) -> None:
    """Give each a key of its own for the next batch."""
    for cell in dropouts:
        cell.key.set_data(Tensor(np.int32(generator.integers(2**31))))


def _mixed(x: Tensor) -> Tensor:
    """An int32 whose bits all depend on all bits of x: lowbias32 of Wellons 2018, "Hash Function Prospector"."""
    x = ops.bitwise_xor(x, _shifted(x, 16)) * 0x7FEB352D
    x = ops.bitwise_xor(x, _shifted(x, 15)) * (0x846CA68B - 2**32)
    return ops.bitwise_xor(x, _shifted(x, 16))


def _shifted(x: Tensor, bits: int) -> Tensor:
    """To the right, with zeros from the left although x has a sign."""
    return ops.bitwise_and(ops.bitwise_right_shift(x, bits), (1 << (32 - bits)) - 1)
