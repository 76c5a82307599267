"""Dropout with a key that the training step sets, so that a resumed run drops the same values as an uninterrupted one.

MindSpore's own dropout keeps its random state inside its kernels, from where it cannot be saved.
"""

from __future__ import annotations

from itertools import count

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn, ops

_NUMBERS = count()


class Dropout(nn.Cell):
    """In training, sets a share `rate` of the values to zero and scales the others, so that the mean stays.

    After Srivastava et al. 2014, "Dropout: A Simple Way to Prevent Neural Networks from Overfitting". The dropped
    values depend on the shape and the key alone, see `draw`.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate
        self.threshold = round(rate * 2**32) - 2**31
        self.scale = 1 / (1 - rate)
        # Bypasses nn.Cell, which would list the key among the parameters of checkpoints. The keys of one graph need
        # different names; those of a training get others, see `keys`.
        key = Parameter(Tensor(np.int32(0)), name=f"dropout_key_{next(_NUMBERS)}", requires_grad=False)
        object.__setattr__(self, "key", key)

    def construct(self, x: Tensor) -> Tensor:
        if not self.training or not self.rate:
            return x
        columns = x.shape[-1]
        rows = 1
        for size in x.shape[:-1]:
            rows = rows * size
        # A well mixed hash for each row and each column, and a cheap permutation of their sum for each value.
        numbers = _mixed(ms.numpy.arange(rows + columns, dtype=ms.int32) + self.key)
        place = ops.reshape(numbers[:rows], (rows, 1)) + ops.reshape(numbers[rows:], (1, columns))
        keep = place * (place + place + 1) >= self.threshold
        return x * ops.reshape(ops.cast(keep, x.dtype) * self.scale, x.shape)


class DropPath(nn.Cell):
    """In training, drops a branch (N, P, C) for a share `rate` of the samples and scales it up for the others.

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
    """Every Dropout of a network with a rate above 0."""
    return tuple(cell for _, cell in network.cells_and_names() if isinstance(cell, Dropout) and cell.rate)


def keys(network: nn.Cell) -> list[Parameter]:
    """The keys of all `cells`, with names that are the same in every process that builds this network."""
    keys = [cell.key for cell in cells(network)]
    for number, key in enumerate(keys):
        key.name = f"dropout_key_of_network_{number}"
    return keys


def draw(dropouts: tuple[Dropout, ...], generator: np.random.Generator) -> None:
    """Draw a new key for each, for the next batch."""
    for cell in dropouts:
        cell.key.set_data(Tensor(np.int32(generator.integers(2**31))))


def _mixed(x: Tensor) -> Tensor:
    """An int32 hash of x whose bits depend on all bits of x: lowbias32 of Wellons 2018, "Hash Function Prospector"."""
    x = ops.bitwise_xor(x, _shifted(x, 16)) * 0x7FEB352D
    x = ops.bitwise_xor(x, _shifted(x, 15)) * (0x846CA68B - 2**32)
    return ops.bitwise_xor(x, _shifted(x, 16))


def _shifted(x: Tensor, bits: int) -> Tensor:
    """A logical right shift of a signed integer."""
    return ops.bitwise_and(ops.bitwise_right_shift(x, bits), (1 << (32 - bits)) - 1)
