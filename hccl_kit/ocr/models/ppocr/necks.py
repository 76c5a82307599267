"""The necks of the tiny recogniser of PP-OCRv6 and of the mobile one of PP-OCRv5.

After PaddleOCR's configurations. Cells are created in the order in which they run, see `lcnet_v4`.
"""

from __future__ import annotations

from mindspore import Tensor, nn, ops

from hccl_kit.ocr.models.ppocr.light_svtr import Block, Normalised, columns


class CTCGuide(nn.Cell):
    """Features (N, C, 1, T) to a sequence (T, N, dims): five columns are mixed, then channels."""

    def __init__(self, channels: int, *, dims: int) -> None:
        super().__init__()
        self.out_channels = dims
        self.local = Normalised(channels, channels, (1, 5), group=channels, act="hswish")
        self.mix = Normalised(channels, channels, act="hswish")
        self.reduce = nn.Dense(channels, dims)

    def construct(self, features: Tensor) -> Tensor:
        return ops.transpose(self.reduce(columns(self.mix(self.local(features)))), (1, 0, 2))


class SVTREncoder(nn.Cell):
    """Features (N, C, 1, T) to a sequence (T, N, dims): blocks of attention, whose output is joined with the features.

    The options are those of `LightSVTR`.
    """

    def __init__(
        self, channels: int, *, dims: int, depth: int, mlp_ratio: float, local_kernel: int, dropout: float
    ) -> None:
        super().__init__()
        self.out_channels = dims
        self.local = Normalised(channels, channels // 8, (1, local_kernel))
        self.reduce = Normalised(channels // 8, dims)
        self.blocks = nn.SequentialCell(*[Block(dims, int(mlp_ratio * dims), dropout) for _ in range(depth)])
        self.norm = nn.LayerNorm((dims,), epsilon=1e-6)
        self.expand = Normalised(dims, channels)
        self.join = Normalised(2 * channels, channels // 8, (1, local_kernel))
        self.last = Normalised(channels // 8, dims)

    def construct(self, features: Tensor) -> Tensor:
        x = self.norm(self.blocks(columns(self.reduce(self.local(features)))))
        back = self.expand(ops.expand_dims(ops.transpose(x, (0, 2, 1)), 2))
        return ops.transpose(columns(self.last(self.join(ops.cat((features, back), 1)))), (1, 0, 2))
