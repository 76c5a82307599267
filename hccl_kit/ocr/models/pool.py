"""The maximum over pairs of rows and columns, in a form whose gradient is quick on CPU."""

from __future__ import annotations

import mindspore as ms
from mindspore import Tensor, nn, ops


class MaxPool(nn.Cell):
    """The maximum of every two rows, and of every two columns too unless `rows_only`.

    Features (N, C, H, W) become (N, C, H/2, W/2), or (N, C, H/2, W): what nn.MaxPool2d(2, 2), or ((2, 1), (2, 1)),
    gives. An odd last row or column is left out.

    On CPU the gradient of MindSpore's pooling takes more time than a convolution. max(a, b) = a + relu(b - a), row
    beside row, has the same gradient three times faster and differs by a rounding of the larger magnitude. That form
    is for training on CPU alone: what is evaluated or exported, and what runs on Ascend, is the pooling itself.
    """

    def __init__(self, *, rows_only: bool = False) -> None:
        super().__init__()
        window = (2, 1) if rows_only else (2, 2)
        self.rows_only = rows_only
        self.pool = nn.MaxPool2d(window, window)
        self.by_pairs = ms.get_context("device_target") == "CPU"

    def construct(self, x: Tensor) -> Tensor:
        _, channels, height, width = x.shape
        if not (self.by_pairs and self.training) or height % 2 or (width % 2 and not self.rows_only):
            return self.pool(x)
        x = self._pairs(ops.reshape(x, (-1, 2 * width)), width)
        if self.rows_only:
            return ops.reshape(x, (-1, channels, height // 2, width))
        columns = ops.transpose(ops.reshape(x, (-1, width // 2, 2)), (0, 2, 1))
        x = self._pairs(ops.reshape(columns, (-1, width)), width // 2)
        return ops.reshape(x, (-1, channels, height // 2, width // 2))

    def _pairs(self, x: Tensor, width: int) -> Tensor:
        """(M, 2 width) to (M, width): the larger of the first and the second half."""
        first, second = ops.split(x, width, 1)
        return first + ops.relu(second - first)
