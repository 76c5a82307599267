"""The necks of the recognisers of PP-OCR: LightSVTR and CTCGuide of PP-OCRv6, SVTREncoder of the mobile PP-OCRv5.

After PaddleOCR's configurations and published weights; attention between the columns of a line as in Du et al. 2022,
"SVTR: Scene Text Recognition with a Single Visual Model". Cells are created in the order in which they run, see
`lcnet_v4`.
"""

from __future__ import annotations

from math import sqrt

from mindspore import Tensor, nn, ops

from hccl_kit.ocr.models.dropout import Dropout

HEADS = 8


class Normalised(nn.Cell):
    """A convolution without bias that keeps the size, batch normalisation, and SiLU or hard-swish."""

    in_row = ("conv", "norm")

    def __init__(
        self, before: int, after: int, kernel: tuple[int, int] = (1, 1), *, group: int = 1, act: str = "silu"
    ) -> None:
        super().__init__()
        self.hard = act == "hswish"
        rows, columns = (side // 2 for side in kernel)
        self.conv = nn.Conv2d(
            before,
            after,
            kernel,
            pad_mode="pad",
            padding=(rows, rows, columns, columns),
            group=group,
            has_bias=False,
        )
        self.norm = nn.BatchNorm2d(after, eps=1e-5, momentum=0.9)

    def construct(self, x: Tensor) -> Tensor:
        x = self.norm(self.conv(x))
        return x * (ops.relu6(x + 3) * (1 / 6) if self.hard else ops.sigmoid(x))


class Attention(nn.Cell):
    """Columns (N, T, C) to columns (N, T, C) by attention between all of them, with eight heads."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.width = width
        self.each = width // HEADS
        self.scale = 1 / sqrt(self.each)
        self.qkv = nn.Dense(width, 3 * width)
        self.project = nn.Dense(width, width)
        self.drop_weights, self.drop = Dropout(dropout), Dropout(dropout)

    def construct(self, x: Tensor) -> Tensor:
        columns = x.shape[1]
        qkv = ops.reshape(self.qkv(x), (-1, columns, 3, HEADS, self.each))
        query, key, value = ops.unbind(ops.transpose(qkv, (2, 0, 3, 1, 4)))
        weights = ops.softmax(ops.matmul(query * self.scale, ops.transpose(key, (0, 1, 3, 2))), -1)
        mixed = ops.matmul(self.drop_weights(weights), value)
        joined = ops.reshape(ops.transpose(mixed, (0, 2, 1, 3)), (-1, columns, self.width))
        return self.drop(self.project(joined))


class Perceptron(nn.Cell):
    """Two dense layers with SiLU between them, for each column."""

    def __init__(self, width: int, inside: int, dropout: float) -> None:
        super().__init__()
        self.expand = nn.Dense(width, inside)
        self.project = nn.Dense(inside, width)
        self.inner, self.outer = Dropout(dropout), Dropout(dropout)

    def construct(self, x: Tensor) -> Tensor:
        x = self.expand(x)
        return self.outer(self.project(self.inner(x * ops.sigmoid(x))))


class Block(nn.Cell):
    """Attention and a perceptron, each after a normalisation and with a residual connection."""

    def __init__(self, width: int, inside: int, dropout: float) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm((width,), epsilon=1e-5)
        self.attention = Attention(width, dropout)
        self.norm2 = nn.LayerNorm((width,), epsilon=1e-5)
        self.perceptron = Perceptron(width, inside, dropout)

    def construct(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.perceptron(self.norm2(x))


class LightSVTR(nn.Cell):
    """Features (N, C, 1, T) to a sequence (T, N, dims).

    `dims` channels, a multiple of 8; `depth` blocks, whose perceptrons are `mlp_ratio` times as wide; `local_kernel`
    columns are mixed by a convolution before them.
    """

    def __init__(
        self, channels: int, *, dims: int, depth: int, mlp_ratio: float, local_kernel: int, dropout: float
    ) -> None:
        super().__init__()
        self.out_channels = dims
        self.skip = Normalised(channels, dims)
        self.reduce = Normalised(channels, dims)
        self.local = Normalised(dims, dims, (1, local_kernel), group=dims)
        self.blocks = nn.SequentialCell(*[Block(dims, int(mlp_ratio * dims), dropout) for _ in range(depth)])
        self.norm = nn.LayerNorm((dims,), epsilon=1e-6)

    def construct(self, features: Tensor) -> Tensor:
        x = self.reduce(features)
        x = x + self.local(x)
        mixed = self.norm(self.blocks(columns(x))) + columns(self.skip(features))
        return ops.transpose(mixed, (1, 0, 2))


def columns(features: Tensor) -> Tensor:
    """Features (N, C, 1, T) to columns (N, T, C)."""
    return ops.transpose(ops.squeeze(features, 2), (0, 2, 1))


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
