"""ResNet-34 for a line of text: the height is reduced to one, the width to a quarter.

After He, Zhang, Ren, Sun 2015, "Deep Residual Learning for Image Recognition", in the variant "vd" of He et al. 2018,
"Bag of Tricks for Image Classification with Convolutional Neural Networks": three small convolutions at the start, and
a shortcut that averages before it projects. Parameters have MindOCR's names.
"""

from __future__ import annotations

from mindspore import Tensor, nn, ops

HEIGHT, STRIDE = 32, 4
"""Images are 32 pixels high; four columns make one time step."""
GROUPS = ((64, 3), (128, 4), (256, 6), (512, 3))
"""Channels and blocks of each group; from the second on, the first block halves the height."""
HALF = (2, 1)


class Convolution(nn.Cell):
    """A convolution with "same" padding, and its normalisation."""

    in_row = ("conv", "norm")

    def __init__(self, before: int, after: int, kernel: int = 3, *, stride: tuple[int, int] = (1, 1)) -> None:
        super().__init__()
        self.conv = nn.Conv2d(before, after, kernel, stride=stride, pad_mode="pad", padding=kernel // 2, has_bias=False)
        self.norm = nn.BatchNorm2d(after)

    def construct(self, x: Tensor) -> Tensor:
        return self.norm(self.conv(x))


class Shortcut(nn.Cell):
    """The input of a block projected to the shape of its output, averaged over two rows if the height is halved."""

    in_row = ("conv", "norm")

    def __init__(self, before: int, after: int, *, halve: bool) -> None:
        super().__init__()
        self.average = nn.AvgPool2d(HALF, HALF) if halve else nn.Identity()
        projection = Convolution(before, after, 1)
        self.conv = projection.conv
        self.norm = projection.norm

    def construct(self, x: Tensor) -> Tensor:
        return self.norm(self.conv(self.average(x)))


class Block(nn.Cell):
    """Two 3x3 convolutions and the input, added."""

    def __init__(self, before: int, after: int, *, first: bool, halve: bool) -> None:
        super().__init__()
        self.conv0 = Convolution(before, after, stride=HALF if halve else (1, 1))
        self.conv1 = Convolution(after, after)
        self.short = Shortcut(before, after, halve=halve) if first else nn.Identity()

    def construct(self, x: Tensor) -> Tensor:
        y = self.conv1(ops.relu(self.conv0(x)))
        return ops.relu(self.short(x) + y)


class RecResNet34(nn.Cell):
    """Images (N, 3, 32, W) to features (N, 512, 1, W/4); W is a multiple of 4."""

    out_channels = GROUPS[-1][0]

    def __init__(self) -> None:
        super().__init__()
        self.conv1_1 = Convolution(3, 32)
        self.conv1_2 = Convolution(32, 32)
        self.conv1_3 = Convolution(32, 64)
        # MaxPool's own "same" does not export to ONNX. After ReLU zeros do not change a maximum.
        self.pad = nn.Pad(((0, 0), (0, 0), (0, 1), (0, 1)))
        self.max_pool = nn.MaxPool2d(3, 2)
        self.block_list = nn.SequentialCell(*_blocks())
        self.last_pool = nn.MaxPool2d(2, 2)

    def construct(self, images: Tensor) -> Tensor:
        x = ops.relu(self.conv1_1(images))
        x = ops.relu(self.conv1_2(x))
        x = ops.relu(self.conv1_3(x))
        return self.last_pool(self.block_list(self.max_pool(self.pad(x))))


def _blocks() -> list[Block]:
    blocks = []
    before = GROUPS[0][0]
    for group, (after, depth) in enumerate(GROUPS):
        for index in range(depth):
            blocks.append(Block(before, after, first=index == 0, halve=index == 0 and group > 0))
            before = after
    return blocks


def sequence_length(width: int) -> int:
    """The number of time steps for images that are `width` wide."""
    return width // STRIDE
