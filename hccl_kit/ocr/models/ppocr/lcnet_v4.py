"""PPLCNetV4, the backbone of PP-OCRv6, for lines and for pages.

After PaddleOCR's configurations and published weights of PP-OCRv6. With `branches` the networks have the form in which
PaddleOCR trains them; without, that of the published ONNX files: each branched convolution and each batch normalisation
is folded into one convolution with a bias.

Cells are created in the order in which they run: weights that come without meaningful names are placed by that order.
"""

from __future__ import annotations

from typing import NamedTuple

from mindspore import Tensor, nn, ops

from hccl_kit.ocr.models.ppocr.convolutions import RepDepthwise, Stride, convolution, layer

HEIGHT = 48
"""The height of an image of a line."""


class Stage(NamedTuple):
    """Blocks of one width. The first block has the stride and changes the number of channels."""

    channels: int
    stride: Stride
    squeeze: tuple[bool, ...]
    """For each block, whether it has squeeze and excitation."""


class Shape(NamedTuple):
    """The sizes of a backbone."""

    stem: tuple[int, int]
    """Channels inside the stem and after it."""
    joined: bool
    """Whether the stem has two branches, which are joined; else it is two convolutions."""
    stages: tuple[Stage, ...]


_SE, _NO = True, False
_ALTERNATE = (_NO, _SE, _NO)
_DOWN = (2, 1)
"""Halves the height of a line and keeps its width."""


def _pages(stem: tuple[int, int], channels: tuple[int, int, int]) -> Shape:
    two, three, four = channels
    return Shape(
        stem,
        True,
        (
            Stage(stem[1], 1, (_SE, _NO)),
            Stage(two, 2, _ALTERNATE),
            Stage(three, 2, (*_ALTERNATE, _SE, _NO)),
            Stage(four, 2, _ALTERNATE),
        ),
    )


PAGES = {
    "tiny": _pages((16, 32), (48, 64, 160)),
    "small": _pages((24, 48), (96, 192, 384)),
    "medium": _pages((64, 128), (256, 512, 896)),
}
LINES = {
    "tiny": Shape(
        (24, 48),
        False,
        (
            Stage(48, 1, (_SE,)),
            Stage(48, 1, (_NO,)),
            Stage(96, _DOWN, _ALTERNATE),
            Stage(160, _DOWN, (*_ALTERNATE, _NO)),
        ),
    ),
    "small": Shape(
        (48, 96),
        True,
        (
            Stage(96, 1, (_SE,)),
            Stage(96, 1, (_NO, _NO)),
            Stage(192, _DOWN, (*_ALTERNATE, _SE, _NO, _SE, _NO)),
            Stage(384, _DOWN, _ALTERNATE),
        ),
    ),
    "medium": Shape(
        (64, 128),
        True,
        (
            Stage(128, 1, (_SE,)),
            Stage(256, 1, (_NO, _NO, _SE)),
            Stage(512, _DOWN, (*_ALTERNATE, _SE, _NO, _SE, _NO)),
            Stage(768, _DOWN, _ALTERNATE),
        ),
    ),
}


class Stem(nn.Cell):
    """Images (N, 3, H, W) to features (N, after, H/4, W/4): a convolution, two branches that are joined, and two more.

    One branch is two convolutions, the other a maximum; both keep the size.
    """

    def __init__(self, inside: int, after: int, *, branches: bool) -> None:
        super().__init__()
        self.first = layer(3, inside, 3, stride=2, branches=branches)
        self.left = layer(inside, inside // 2, 2, branches=branches)
        self.right = layer(inside // 2, inside, 2, branches=branches)
        self.pool = nn.MaxPool2d(2, stride=1, pad_mode="same")
        self.join = layer(2 * inside, inside, 3, stride=2, branches=branches)
        self.last = layer(inside, after, 1, branches=branches)

    def construct(self, images: Tensor) -> Tensor:
        x = ops.relu(self.first(images))
        branch = ops.relu(self.right(ops.relu(self.left(x))))
        return ops.relu(self.last(ops.relu(self.join(ops.cat((self.pool(x), branch), 1)))))


class PlainStem(nn.SequentialCell):
    """Images (N, 3, H, W) to features (N, after, H/4, W/4): two convolutions with GELU between them."""

    def __init__(self, inside: int, after: int, *, branches: bool) -> None:
        first = layer(3, inside, 3, stride=2, branches=branches)
        second = layer(inside, after, 3, stride=2, branches=branches)
        super().__init__(first, nn.GELU(approximate=False), second)


class Scale(nn.Cell):
    """Maps (N, C, H, W) times weights (N, C, 1, 1)."""

    def construct(self, x: Tensor, weights: Tensor) -> Tensor:
        return x * weights


class SqueezeExcite(nn.Cell):
    """A map (N, C, H, W) times a weight per channel, computed from the means of all channels (Hu et al. 2018).

    The weight is a hard sigmoid of the given slope.
    """

    def __init__(self, channels: int, *, slope: float = 1 / 6) -> None:
        super().__init__()
        self.steepness = 6 * slope
        self.reduce = convolution(channels, channels // 4, 1)
        self.expand = convolution(channels // 4, channels, 1)
        self.scale = Scale()

    def construct(self, x: Tensor) -> Tensor:
        return self.scale(x, self.weights(x))

    def weights(self, x: Tensor) -> Tensor:
        """The weights (N, C, 1, 1) of the channels of `x`."""
        weight = self.expand(ops.relu(self.reduce(mean_of_pixels(x))))
        return ops.relu6(self.steepness * weight + 3) * (1 / 6)


class Block(nn.Cell):
    """A depthwise convolution in space, then two pointwise ones over channels.

    With equal shapes before and after, the residual connection goes around the pointwise ones alone; that around the
    depthwise one is part of it. With `branches` such a block starts as the depthwise one alone.
    """

    def __init__(self, before: int, after: int, *, stride: Stride, squeeze: bool, branches: bool) -> None:
        super().__init__()
        self.residual = stride == 1 and before == after
        if branches and self.residual:
            self.depthwise = RepDepthwise(before)
        else:
            self.depthwise = layer(before, before, 3, stride=stride, group=before, branches=branches)
        self.squeeze = SqueezeExcite(before) if squeeze else nn.Identity()
        self.expand = layer(before, 2 * before, 1, branches=branches)
        self.gelu = nn.GELU(approximate=False)
        self.project = layer(2 * before, after, 1, branches=branches, gamma="zeros" if self.residual else "ones")

    def construct(self, x: Tensor) -> Tensor:
        x = self.squeeze(self.depthwise(x))
        mixed = self.project(self.gelu(self.expand(x)))
        return x + mixed if self.residual else mixed


def mean_of_pixels(x: Tensor) -> Tensor:
    """The means (N, C, 1, 1) of maps (N, C, H, W)."""
    return ops.mean(x, (2, 3), True)


def _stages(shape: Shape, *, branches: bool) -> nn.CellList:
    before = shape.stem[1]
    stages = []
    for stage in shape.stages:
        blocks: list[Block] = []
        for squeeze in stage.squeeze:
            stride = 1 if blocks else stage.stride
            blocks.append(Block(before, stage.channels, stride=stride, squeeze=squeeze, branches=branches))
            before = stage.channels
        stages.append(nn.SequentialCell(*blocks))
    return nn.CellList(stages)


class LineBackbone(nn.Cell):
    """Images (N, 3, 48, W) to features (N, out_channels, 1, sequence_length(W))."""

    def __init__(self, *, size: str = "small", branches: bool = False) -> None:
        super().__init__()
        shape = LINES[size]
        self.out_channels = shape.stages[-1].channels
        self.stem = (Stem if shape.joined else PlainStem)(*shape.stem, branches=branches)
        self.stages = _stages(shape, branches=branches)
        self.pool = nn.AvgPool2d((3, 2), stride=(3, 2), pad_mode="valid")

    def construct(self, images: Tensor) -> Tensor:
        x = self.stem(images)
        for stage in self.stages:
            x = stage(x)
        return self.pool(x)


class PageBackbone(nn.Cell):
    """Images (N, 3, H, W) to four maps (N, C, H/s, W/s) for the strides s of 4, 8, 16 and 32; C in `out_channels`.

    H and W are multiples of 32.
    """

    def __init__(self, *, size: str = "small", branches: bool = False) -> None:
        super().__init__()
        shape = PAGES[size]
        self.out_channels = tuple(stage.channels for stage in shape.stages)
        self.stem = Stem(*shape.stem, branches=branches)
        self.stages = _stages(shape, branches=branches)

    def construct(self, images: Tensor) -> tuple[Tensor, ...]:
        x = self.stem(images)
        maps: tuple[Tensor, ...] = ()
        for stage in self.stages:
            x = stage(x)
            maps += (x,)
        return maps


def sequence_length(width: int) -> int:
    """The number of time steps for images of that width."""
    return -(-width // 4) // 2
