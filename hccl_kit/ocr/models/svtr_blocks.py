"""The blocks of SVTR: attention between the patches of an image, over all of them or in a window.

After Du et al. 2022, "SVTR: Scene Text Recognition with a Single Visual Model". GELU is the approximation by tanh.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from mindspore import Tensor, nn, ops
from numpy.typing import NDArray

from hccl_kit.ocr.models.dropout import DropPath
from hccl_kit.ocr.models.svtr_shape import Pair

MLP_RATIO = 4


def window(grid: Pair, size: Pair) -> NDArray[np.float32]:
    """The attention mask between the patches of a grid: 0 inside a window around each patch, -inf outside.

    Shape (P, P) for P patches, row by row; `size` is odd.
    """
    rows, columns = np.divmod(np.arange(grid[0] * grid[1]), grid[1])
    high = np.abs(rows[:, None] - rows) <= size[0] // 2
    wide = np.abs(columns[:, None] - columns) <= size[1] // 2
    return np.where(high & wide, 0, -np.inf).astype(np.float32)


class Mixer(nn.Cell):
    """Patches (N, P, C) to patches (N, P, C) by attention with `heads` heads; `mask` (P, P) is added to its logits."""

    def __init__(self, width: int, heads: int, mask: NDArray[np.float32] | None) -> None:
        super().__init__()
        self.width, self.heads = width, heads
        self.scale = 1 / sqrt(width // heads)
        self.qkv = nn.Dense(width, 3 * width)
        self.proj = nn.Dense(width, width)
        self.mask = None if mask is None else Tensor(mask)

    def construct(self, x: Tensor) -> Tensor:
        patches = x.shape[1]
        each = (-1, patches, 3, self.heads, self.width // self.heads)
        qkv = ops.transpose(ops.reshape(self.qkv(x), each), (2, 0, 3, 1, 4))
        logits = ops.matmul(qkv[0] * self.scale, ops.transpose(qkv[1], (0, 1, 3, 2)))
        if self.mask is not None:
            logits = logits + ops.cast(self.mask, logits.dtype)
        mixed = ops.matmul(ops.softmax(logits, -1), qkv[2])
        return self.proj(ops.reshape(ops.transpose(mixed, (0, 2, 1, 3)), (-1, patches, self.width)))


class Mlp(nn.Cell):
    """Two dense layers for each patch."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.fc1 = nn.Dense(width, MLP_RATIO * width)
        self.fc2 = nn.Dense(MLP_RATIO * width, width)
        self.act = nn.GELU()

    def construct(self, x: Tensor) -> Tensor:
        return self.fc2(self.act(self.fc1(x)))


class Block(nn.Cell):
    """Mixing between the patches, then a perceptron for each, both with a residual connection."""

    def __init__(self, width: int, heads: int, mask: NDArray[np.float32] | None, *, drop_path: float) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm((width,), epsilon=1e-6)
        self.mixer = Mixer(width, heads, mask)
        self.norm2 = nn.LayerNorm((width,), epsilon=1e-6)
        self.mlp = Mlp(width)
        self.drop_mixer, self.drop_mlp = DropPath(drop_path), DropPath(drop_path)

    def construct(self, x: Tensor) -> Tensor:
        x = x + self.drop_mixer(self.mixer(self.norm1(x)))
        return x + self.drop_mlp(self.mlp(self.norm2(x)))
