"""Max pooling by two."""

from __future__ import annotations

from mindspore import Tensor, nn


class MaxPool(nn.Cell):
    """The maximum of every two rows, and of every two columns unless `rows_only`.

    Features (N, C, H, W) to (N, C, H/2, W/2), or (N, C, H/2, W). An odd last row or column is dropped.
    """

    def __init__(self, *, rows_only: bool = False) -> None:
        super().__init__()
        window = (2, 1) if rows_only else (2, 2)
        self.rows_only = rows_only
        self.pool = nn.MaxPool2d(window, window)

    def construct(self, x: Tensor) -> Tensor:
        return self.pool(x)
