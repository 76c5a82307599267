"""The structure of most detectors: a backbone with maps at four strides, a neck that joins them, a head; and ResNet.

After He, Zhang, Ren, Sun 2015, "Deep Residual Learning for Image Recognition". Parameters have MindOCR's names,
and as there the first pooling pads at the bottom and on the right only, so that its checkpoints fit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from mindspore import Tensor, nn, ops
from mindspore.common.initializer import HeNormal

from hccl_kit.ocr.config import options_of
from hccl_kit.ocr.models.mobilenet_v3 import mobilenet_v3
from hccl_kit.ocr.models.network import Network

WIDTHS = (64, 128, 256, 512)
"""Channels inside the blocks of each stage; the output of a bottleneck has four times as many."""
Features = tuple[Tensor, Tensor, Tensor, Tensor]


def _convolution(before: int, after: int, kernel: int, stride: int = 1) -> nn.Conv2d:
    """A convolution without bias, because a normalisation follows."""
    start = HeNormal(mode="fan_out", nonlinearity="relu")
    return nn.Conv2d(
        before, after, kernel, stride=stride, pad_mode="pad", padding=kernel // 2, has_bias=False, weight_init=start
    )


def _shortcut(before: int, after: int, stride: int) -> nn.Cell:
    """The input of a block projected to the shape of its output."""
    if before == after and stride == 1:
        return nn.Identity()
    return nn.SequentialCell(_convolution(before, after, 1, stride), nn.BatchNorm2d(after))


class BasicBlock(nn.Cell):
    """Two 3x3 convolutions and the input, added."""

    expansion = 1
    in_row = ("conv1", "bn1", "conv2", "bn2")

    def __init__(self, before: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = _convolution(before, width, 3, stride)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = _convolution(width, width, 3)
        self.bn2 = nn.BatchNorm2d(width)
        self.down_sample = _shortcut(before, width, stride)

    def construct(self, x: Tensor) -> Tensor:
        y = ops.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return ops.relu(y + self.down_sample(x))


class Bottleneck(nn.Cell):
    """A 1x1, a 3x3 and a 1x1 convolution and the input, added. The stride is that of the 3x3 convolution."""

    expansion = 4
    in_row = ("conv1", "bn1", "conv2", "bn2", "conv3", "bn3")

    def __init__(self, before: int, width: int, stride: int) -> None:
        super().__init__()
        after = self.expansion * width
        self.conv1 = _convolution(before, width, 1)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = _convolution(width, width, 3, stride)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = _convolution(width, after, 1)
        self.bn3 = nn.BatchNorm2d(after)
        self.down_sample = _shortcut(before, after, stride)

    def construct(self, x: Tensor) -> Tensor:
        y = ops.relu(self.bn1(self.conv1(x)))
        y = ops.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        return ops.relu(y + self.down_sample(x))


Block = type[BasicBlock] | type[Bottleneck]


class ResNet(nn.Cell):
    """Images (N, 3, H, W) to four maps (N, out_channels[i], H/s, W/s), s = 4, 8, 16, 32; H and W are multiples of 32.

    `depths` is the number of blocks of each stage.
    """

    in_row = ("conv1", "bn1")

    def __init__(self, block: Block, depths: tuple[int, int, int, int]) -> None:
        super().__init__()
        self.out_channels = tuple(block.expansion * width for width in WIDTHS)
        self.conv1 = _convolution(3, 64, 7, 2)
        self.bn1 = nn.BatchNorm2d(64)
        self.max_pool = nn.MaxPool2d(3, 2)
        one, two, three, _ = self.out_channels
        self.layer1 = _stage(block, 64, depth=depths[0], width=WIDTHS[0], stride=1)
        self.layer2 = _stage(block, one, depth=depths[1], width=WIDTHS[1], stride=2)
        self.layer3 = _stage(block, two, depth=depths[2], width=WIDTHS[2], stride=2)
        self.layer4 = _stage(block, three, depth=depths[3], width=WIDTHS[3], stride=2)

    def construct(self, images: Tensor) -> Features:
        stem = ops.relu(self.bn1(self.conv1(images)))
        one = self.layer1(self.max_pool(pad(stem)))
        two = self.layer2(one)
        three = self.layer3(two)
        return one, two, three, self.layer4(three)


def pad(x: Tensor) -> Tensor:
    """Add a row of zeros at the bottom and a column on the right; after ReLU they do not change a maximum.

    For a pooling by 3 with stride 2 this is "same" padding, which does not export to ONNX. By concat: nn.Pad takes 30
    times as long on CPU (350 ms of a training step with 2 images of 640 x 640).
    """
    count, channels, height, width = x.shape
    x = ops.concat((x, ops.zeros((count, channels, 1, width), x.dtype)), 2)
    return ops.concat((x, ops.zeros((count, channels, height + 1, 1), x.dtype)), 3)


def _stage(block: Block, before: int, *, depth: int, width: int, stride: int) -> nn.SequentialCell:
    """`depth` blocks; the first one has the stride."""
    first = block(before, width, stride)
    return nn.SequentialCell(first, *[block(block.expansion * width, width, 1) for _ in range(depth - 1)])


BACKBONES: dict[str, Callable[..., nn.Cell]] = {
    "det_resnet18": partial(ResNet, BasicBlock, (2, 2, 2, 2)),
    "det_resnet50": partial(ResNet, Bottleneck, (3, 4, 6, 3)),
    "det_resnet152": partial(ResNet, Bottleneck, (3, 8, 36, 3)),
    "det_mobilenet_v3": mobilenet_v3,
}


def build(model: Mapping[str, Any], *, neck: Callable[..., nn.Cell], head: Callable[..., nn.Cell]) -> Network:
    """The network of a section `model`; the keys of its parts are their options.

    `neck` takes the channels of the four maps, `head` those of the neck.
    """
    options = options_of(model["backbone"])
    options.pop("bottleneck_params", None)  # the variant of MobileNetV3, of which there is only one
    backbone = BACKBONES[model["backbone"]["name"]](**options)
    joined = neck(backbone.out_channels, **options_of(model["neck"]))
    return Network(backbone, joined, head(joined.out_channels, **options_of(model["head"])))
