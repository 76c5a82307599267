"""The part that all necks of the detectors of PP-OCR share: coarse maps are added to the finer ones.

After Lin et al. 2017, "Feature Pyramid Networks for Object Detection", and PaddleOCR's configurations. Cells are
created in the order in which they run, see `lcnet_v4`.
"""

from __future__ import annotations

from collections.abc import Iterable

import mindspore as ms
from mindspore import Tensor, nn, ops
from mindspore.common.initializer import HeUniform

from hccl_kit.ocr.models.fpn import LEVELS, Enlarge
from hccl_kit.ocr.models.ppocr.convolutions import convolution
from hccl_kit.ocr.models.ppocr.lcnet_v4 import SqueezeExcite

Four = tuple[Tensor, Tensor, Tensor, Tensor]
SLOPE = 0.2
"""Slope of the hard sigmoid in the necks' squeeze and excitation; the backbones have 1/6."""


def without_bias(before: int, after: int, kernel: int = 1, *, stride: int = 1) -> nn.Conv2d:
    """A convolution without bias, initialised as in PaddleOCR's necks."""
    return convolution(before, after, kernel, stride=stride, bias=False, init=HeUniform())


class Excited(nn.Cell):
    """A map (N, before, H, W) to x + SE(x), as one product, where x is a convolution (N, after, H, W) of it."""

    def __init__(self, before: int, after: int, kernel: int = 1) -> None:
        super().__init__()
        self.conv = without_bias(before, after, kernel)
        self.squeeze = SqueezeExcite(after, slope=SLOPE)

    def construct(self, x: Tensor) -> Tensor:
        x = self.conv(x)
        return self.squeeze.scale(x, 1 + self.squeeze.weights(x))


class Pyramid(nn.Cell):
    """Four maps (N, channels[i], H/s, W/s), s = 4, 8, 16, 32, to one (N, out_channels, H/4, W/4).

    `unify` makes the cells that give the maps `out_channels` channels, from coarse to fine. `join` of a subclass makes
    one map of the sums.
    """

    def __init__(self, unify: Iterable[nn.Cell], out_channels: int) -> None:
        super().__init__()
        self.out_channels = out_channels
        self.unify = nn.CellList(list(unify))
        on_cpu = ms.get_context("device_target") == "CPU"
        self.double = Enlarge(out_channels, 2, by_convolution=on_cpu)
        self.enlarge = nn.CellList(
            [Enlarge(out_channels // LEVELS, 2**level, by_convolution=on_cpu) for level in range(LEVELS - 1, 0, -1)]
        )

    def construct(self, features: Four) -> Tensor:
        return self.join(self.sums(features))

    def join(self, sums: Four) -> Tensor:
        """The sums as one map (N, out_channels, H/4, W/4)."""
        raise NotImplementedError

    def sums(self, features: Four) -> Four:
        """Each map with all coarser ones added to it, (N, out_channels, H/s, W/s), from coarse to fine."""
        four, three, two, one = features
        coarse = self.unify[0](one)
        middle = self.unify[1](two) + self.double(coarse)
        fine = self.unify[2](three) + self.double(middle)
        return coarse, middle, fine, self.unify[3](four) + self.double(fine)

    def concatenated(self, maps: Four) -> Tensor:
        """Four maps (N, out_channels / 4, H/s, W/s) from coarse to fine, all in the size of the finest, as one."""
        one, two, three, four = maps
        return ops.cat((self.enlarge[0](one), self.enlarge[1](two), self.enlarge[2](three), four), 1)
