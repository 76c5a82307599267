"""RepLKFPN, the neck of the detectors of PP-OCRv6: a feature pyramid with large depthwise kernels.

After PaddleOCR's configurations and published weights of PP-OCRv6; large kernels as in Ding et al. 2022, "Scaling Up
Your Kernels to 31x31". The branches of the training form are folded into one kernel. Cells are created in the order
in which they run, see `lcnet_v4`.
"""

from __future__ import annotations

import mindspore as ms
from mindspore import Tensor, nn, ops
from mindspore.common.initializer import HeUniform

from hccl_kit.ocr.models.fpn import LEVELS, Enlarge
from hccl_kit.ocr.models.ppocr.convolutions import convolution
from hccl_kit.ocr.models.ppocr.lcnet_v4 import SqueezeExcite

SLOPE = 0.2
"""Of the hard sigmoid of this neck's squeeze and excitation; the backbone has 1/6."""


class Excited(nn.Cell):
    """A map (N, C, H, W) to x + SE(x), where x is a pointwise convolution (N, after, H, W) of it."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(before, after, 1, pad_mode="pad", has_bias=False, weight_init=HeUniform())
        self.squeeze = SqueezeExcite(after, slope=SLOPE)

    def construct(self, x: Tensor) -> Tensor:
        x = self.conv(x)
        return x + self.squeeze(x)


class Smooth(nn.Cell):
    """A map (N, C, H, W) to (N, C/4, H, W): a large depthwise kernel in space, then channels."""

    def __init__(self, channels: int, kernel: int) -> None:
        super().__init__()
        self.depthwise = convolution(channels, channels, kernel, group=channels)
        self.reduce = Excited(channels, channels // LEVELS)

    def construct(self, x: Tensor) -> Tensor:
        return self.reduce(self.depthwise(x))


class RepLKFPN(nn.Cell):
    """Four maps (N, channels[i], H/s, W/s), s = 4, 8, 16, 32, to one (N, out_channels, H/4, W/4).

    Coarse maps are added to the finer ones; each sum is smoothed to a quarter of `out_channels`, a multiple of 16, by a
    kernel of `kernel` x `kernel`; all four, resized to the finest, are concatenated from coarse to fine.
    """

    def __init__(self, channels: tuple[int, ...], *, out_channels: int, kernel: int) -> None:
        super().__init__()
        self.out_channels = out_channels
        self.unify = nn.CellList([Excited(before, out_channels) for before in reversed(channels)])
        self.smooth = nn.CellList([Smooth(out_channels, kernel) for _ in channels])
        on_cpu = ms.get_context("device_target") == "CPU"
        self.double = Enlarge(out_channels, 2, by_convolution=on_cpu)
        self.enlarge = nn.CellList(
            [Enlarge(out_channels // LEVELS, 2**level, by_convolution=on_cpu) for level in range(LEVELS - 1, 0, -1)]
        )

    def construct(self, features: tuple[Tensor, ...]) -> Tensor:
        four, three, two, one = features
        sums: tuple[Tensor, ...] = (self.unify[0](one),)
        sums += (self.unify[1](two) + self.double(sums[0]),)
        sums += (self.unify[2](three) + self.double(sums[1]),)
        sums += (self.unify[3](four) + self.double(sums[2]),)
        maps: tuple[Tensor, ...] = ()
        for level in range(LEVELS - 1):
            maps += (self.enlarge[level](self.smooth[level](sums[level])),)
        return ops.cat((*maps, self.smooth[3](sums[3])), 1)
