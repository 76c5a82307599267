"""Max pooling by two with a fast gradient on CPU."""

from __future__ import annotations

import mindspore as ms
from mindspore import Tensor, nn, ops


class MaxPool(nn.Cell):
    """The maximum of every two rows, and of every two columns unless `rows_only`.

    Features (N, C, H, W) to (N, C, H/2, W/2), or (N, C, H/2, W), as nn.MaxPool2d(2, 2) or ((2, 1), (2, 1)). An odd last
    row or column is dropped.

    On CPU the gradient of MindSpore's pooling takes more time than a convolution. max(a, b) = a + relu(b - a) has the
    same gradient three times faster, and differs by a rounding of the larger magnitude. It is used for training on CPU
    only: evaluation, export and Ascend use nn.MaxPool2d itself.
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
