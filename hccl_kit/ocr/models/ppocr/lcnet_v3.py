"""PPLCNetV3, the backbone of the mobile networks of PP-OCRv5, for lines and for pages.

After PaddleOCR's configurations and published weights. Each convolution is followed by a scale and an offset for all
channels, hard-swish, and another scale and offset; those that halve both sides have the first scale and offset alone.
With `branches` the convolution is the sum of four of its size, a 1x1 convolution and the map itself, each normalised;
without, they are folded into one. Cells are created in the order in which they run, see `lcnet_v4`.
"""

from __future__ import annotations

from typing import NamedTuple

from mindspore import Parameter, Tensor, nn, ops

from hccl_kit.ocr.models.ppocr.convolutions import Normed, Stride, convolution, layer, norm
from hccl_kit.ocr.models.ppocr.lcnet_v4 import HEIGHT, SqueezeExcite, sequence_length

__all__ = ["HEIGHT", "LineBackbone", "PageBackbone", "sequence_length"]

BRANCHES = 4


class Block(NamedTuple):
    """A depthwise convolution and a pointwise one, for a scale of 1."""

    kernel: int
    channels: int
    stride: Stride = 1
    squeeze: bool = False


Stages = tuple[tuple[Block, ...], ...]


def _stages(*strides: Stride) -> Stages:
    """The blocks; `strides` are those of the second to the fifth stage, and one inside the fifth."""
    two, three, four, five, inside = strides
    return (
        (Block(3, 32),),
        (Block(3, 64, two), Block(3, 64)),
        (Block(3, 128, three), Block(3, 128)),
        (Block(3, 256, four), *(Block(5, 256) for _ in range(4))),
        (Block(5, 512, five, squeeze=True), Block(5, 512, squeeze=True), Block(5, 512, inside), Block(5, 512)),
    )


STEM = 16
LINES = _stages(1, (2, 1), (1, 2), (2, 1), (2, 1))
"""The strides reduce a line of 48 pixels to 3, and its width to a quarter."""
PAGES = _stages(2, 2, 2, 2, 1)
REDUCED = (16, 24, 56, 480)
"""The channels of the four maps of a page, for a scale of 1."""


def scaled(channels: int, scale: float) -> int:
    """The multiple of 16 next to `channels` times `scale`, at least 16 and 90 % of the product."""
    exact = channels * scale
    near = max(16, int(exact + 8) // 16 * 16)
    return near + 16 if near < 0.9 * exact else near


class Affine(nn.Cell):
    """A map times one number plus another."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = Parameter(ops.ones(1), name="scale")
        self.bias = Parameter(ops.zeros(1), name="bias")

    def construct(self, x: Tensor) -> Tensor:
        return self.scale * x + self.bias


class Branched(nn.Cell):
    """The sum of convolutions of one map, (N, before, H, W) to (N, after, H / stride, W / stride)."""

    def __init__(self, before: int, after: int, kernel: int, *, stride: Stride, group: int) -> None:
        super().__init__()
        self.branches = nn.CellList(
            [Normed(before, after, kernel, stride=stride, group=group) for _ in range(BRANCHES)]
        )
        self.has_point, self.has_identity = kernel > 1, before == after and stride == 1
        if self.has_point:
            self.point = Normed(before, after, 1, stride=stride, group=group)
        if self.has_identity:
            self.identity = norm(before)

    def construct(self, x: Tensor) -> Tensor:
        total = self.branches[0](x)
        for index in range(1, BRANCHES):
            total = total + self.branches[index](x)
        if self.has_point:
            total = total + self.point(x)
        if self.has_identity:
            total = total + self.identity(x)
        return total


class Activated(nn.Cell):
    """A convolution, or a sum of some, and hard-swish, each with a learnt scale and offset after it.

    With a stride of 2 there is no hard-swish, and nothing after it.
    """

    def __init__(
        self, before: int, after: int, kernel: int, *, branches: bool, stride: Stride = 1, group: int = 1
    ) -> None:
        super().__init__()
        self.conv = (Branched if branches else convolution)(before, after, kernel, stride=stride, group=group)
        self.inner = Affine()
        self.is_active = stride != 2
        if self.is_active:
            self.outer = Affine()

    def construct(self, x: Tensor) -> Tensor:
        x = self.inner(self.conv(x))
        return self.outer(x * (ops.relu6(x + 3) * (1 / 6))) if self.is_active else x


class Separable(nn.Cell):
    """The cell of a `Block`."""

    def __init__(self, before: int, after: int, block: Block, *, branches: bool) -> None:
        super().__init__()
        self.depthwise = Activated(before, before, block.kernel, stride=block.stride, group=before, branches=branches)
        self.squeeze = SqueezeExcite(before) if block.squeeze else nn.Identity()
        self.pointwise = Activated(before, after, 1, branches=branches)

    def construct(self, x: Tensor) -> Tensor:
        return self.pointwise(self.squeeze(self.depthwise(x)))


def _cells(stages: Stages, before: int, scale: float, *, branches: bool) -> nn.CellList:
    cells = []
    for stage in stages:
        blocks = []
        for block in stage:
            after = scaled(block.channels, scale)
            blocks.append(Separable(before, after, block, branches=branches))
            before = after
        cells.append(nn.SequentialCell(*blocks))
    return nn.CellList(cells)


class LineBackbone(nn.Cell):
    """Images (N, 3, 48, W) to features (N, out_channels, 1, sequence_length(W)). PP-OCRv5 has a scale of 0.95."""

    def __init__(self, *, scale: float = 0.95, branches: bool = False) -> None:
        super().__init__()
        self.stem = layer(3, scaled(STEM, scale), 3, stride=2, branches=branches)
        self.stages = _cells(LINES, scaled(STEM, scale), scale, branches=branches)
        self.out_channels = scaled(LINES[-1][-1].channels, scale)
        self.pool = nn.AvgPool2d((3, 2), stride=(3, 2), pad_mode="valid")

    def construct(self, images: Tensor) -> Tensor:
        x = self.stem(images)
        for stage in self.stages:
            x = stage(x)
        return self.pool(x)


class PageBackbone(nn.Cell):
    """Images (N, 3, H, W) to four maps (N, C, H/s, W/s) for the strides s of 4, 8, 16 and 32; C in `out_channels`.

    H and W are multiples of 32. PP-OCRv5 has a scale of 0.75.
    """

    def __init__(self, *, scale: float = 0.75, branches: bool = False) -> None:
        super().__init__()
        self.stem = layer(3, scaled(STEM, scale), 3, stride=2, branches=branches)
        self.stages = _cells(PAGES, scaled(STEM, scale), scale, branches=branches)
        self.out_channels = tuple(int(channels * scale) for channels in REDUCED)
        self.reduce = nn.CellList(
            [
                convolution(scaled(stage[-1].channels, scale), after, 1)
                for stage, after in zip(PAGES[1:], self.out_channels, strict=True)
            ]
        )

    def construct(self, images: Tensor) -> tuple[Tensor, ...]:
        x = self.stages[0](self.stem(images))
        maps: tuple[Tensor, ...] = ()
        for level in range(len(REDUCED)):
            x = self.stages[level + 1](x)
            maps += (self.reduce[level](x),)
        return maps
