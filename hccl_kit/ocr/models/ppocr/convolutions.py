"""The convolutions of PP-OCR's backbones in two forms: with branches and normalisations, and folded into one each.

Published ONNX files hold the folded form. `unfolded` and `folded` of `hccl_kit.ocr.models.ppocr.forms` convert between
the parameters of both.
"""

from __future__ import annotations

from mindspore import Tensor, nn
from mindspore.common.initializer import HeNormal, Initializer

from hccl_kit.ocr.models.db import double
from hccl_kit.ocr.models.ppocr.folding import DILATED, EPSILON

Stride = int | tuple[int, int]


def convolution(
    before: int,
    after: int,
    kernel: int,
    *,
    stride: Stride = 1,
    group: int = 1,
    dilation: int = 1,
    bias: bool = True,
    init: Initializer | None = None,
) -> nn.Conv2d:
    """A convolution that keeps the size, or divides it by the stride and rounds up.

    A kernel of 2 pads one row below and one column to the right. `init` None: PaddleOCR's initialisation of backbones.
    """
    padding = (0, 1, 0, 1) if kernel == 2 else dilation * (kernel // 2)
    return nn.Conv2d(
        before,
        after,
        kernel,
        stride=stride,
        pad_mode="pad",
        padding=padding,
        dilation=dilation,
        group=group,
        has_bias=bias,
        weight_init=init or HeNormal(mode="fan_out", nonlinearity="relu"),
        bias_init="zeros",
    )


def norm(channels: int, *, gamma: str = "ones") -> nn.BatchNorm2d:
    """A batch normalisation with PaddlePaddle's defaults."""
    return nn.BatchNorm2d(channels, eps=EPSILON, momentum=0.9, gamma_init=gamma)


class Normed(nn.Cell):
    """A convolution and batch normalisation: (N, before, H, W) to (N, after, H / stride, W / stride)."""

    in_row = ("conv", "bn")

    def __init__(
        self,
        before: int,
        after: int,
        kernel: int,
        *,
        stride: Stride = 1,
        group: int = 1,
        dilation: int = 1,
        bias: bool = False,
        gamma: str = "ones",
    ) -> None:
        super().__init__()
        self.conv = convolution(before, after, kernel, stride=stride, group=group, dilation=dilation, bias=bias)
        self.bn = norm(after, gamma=gamma)

    def construct(self, x: Tensor) -> Tensor:
        return self.bn(self.conv(x))


class NormedDouble(nn.Cell):
    """A transposed convolution with bias and batch normalisation: (N, before, H, W) to (N, after, 2 H, 2 W)."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.up = double(before, after)
        self.bn = norm(after)

    def construct(self, x: Tensor) -> Tensor:
        return self.bn(self.up(x))


class Dilated(nn.Cell):
    """The sum of a large depthwise kernel and smaller dilated ones, each normalised: (N, C, H, W) to the same.

    `folding.DILATED` lists the smaller ones. After Ding et al. 2024, "UniRepLKNet".
    """

    def __init__(self, channels: int, kernel: int) -> None:
        super().__init__()
        sizes = ((kernel, 1), *DILATED.get(kernel, ()))
        self.kernels = nn.CellList(
            [Normed(channels, channels, size, group=channels, dilation=dilation) for size, dilation in sizes]
        )

    def construct(self, x: Tensor) -> Tensor:
        total = self.kernels[0](x)
        for number in range(1, len(self.kernels)):  # a slice would rename their parameters
            total = total + self.kernels[number](x)
        return total


class RepDepthwise(nn.Cell):
    """The normalised sum of depthwise 3x3 and 1x1 convolutions and the map itself: (N, C, H, W) to the same.

    After PaddleOCR's PP-OCRv6; see Ding et al. 2021, "RepVGG: Making VGG-style ConvNets Great Again".
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.large = Normed(channels, channels, 3, group=channels)
        self.point = convolution(channels, channels, 1, group=channels, bias=False)
        self.bn = norm(channels)

    def construct(self, x: Tensor) -> Tensor:
        return self.bn(self.large(x) + self.point(x) + x)


def layer(
    before: int,
    after: int,
    kernel: int,
    *,
    branches: bool,
    stride: Stride = 1,
    group: int = 1,
    gamma: str = "ones",
) -> nn.Cell:
    """A convolution with bias, or with `branches` one that is normalised."""
    if branches:
        return Normed(before, after, kernel, stride=stride, group=group, gamma=gamma)
    return convolution(before, after, kernel, stride=stride, group=group)


def large_kernel(channels: int, kernel: int, *, branches: bool) -> nn.Cell:
    """A depthwise convolution with bias, or with `branches` `Dilated`."""
    return Dilated(channels, kernel) if branches else convolution(channels, channels, kernel, group=channels)
