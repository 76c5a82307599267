"""The feature pyramid of DBNet, and the adaptive scale fusion of DBNet++.

After Lin et al. 2017, "Feature Pyramid Networks for Object Detection", and Liao et al. 2022, "Real-Time Scene Text
Detection with Differentiable Binarization and Adaptive Scale Fusion". Parameters have MindOCR's names.
"""

from __future__ import annotations

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops
from mindspore.common.initializer import HeUniform

LEVELS = 4
SQUEEZE = 4
"""The channel attention has a hidden layer with a quarter of the channels."""


def convolution(before: int, after: int, kernel: int, *, bias: bool = False) -> nn.Conv2d:
    """A convolution that keeps height and width."""
    return nn.Conv2d(before, after, kernel, pad_mode="pad", padding=kernel // 2, has_bias=bias, weight_init=HeUniform())


class Enlarge(nn.Cell):
    """Nearest-neighbour upsampling: maps (N, C, H, W) to (N, C, factor H, factor W).

    `by_convolution`: by a transposed convolution of each channel with ones, which gives the same values. On CPU it
    takes a sixth of the time of ResizeNearestNeighbor (measured, forward and backward, for the maps of a 640 x 640
    image).
    """

    def __init__(self, channels: int, factor: int, *, by_convolution: bool) -> None:
        super().__init__()
        self.factor = factor
        self.by_convolution = by_convolution
        if by_convolution:
            self.ones = Tensor(np.ones((channels, 1, factor, factor), np.float32))
            self.spread = ops.Conv2DTranspose(channels, factor, pad_mode="valid", stride=factor, group=channels)

    def construct(self, x: Tensor) -> Tensor:
        count, channels, height, width = x.shape
        height, width = self.factor * height, self.factor * width
        if self.by_convolution:
            return self.spread(x, ops.cast(self.ones, x.dtype), (count, channels, height, width))
        return ops.ResizeNearestNeighbor((height, width))(x)


class FeaturePyramid(nn.Cell):
    """Four maps (N, channels[i], H/s, W/s), s = 4, 8, 16, 32, to one (N, out_channels, H/4, W/4).

    Coarse maps are added to the finer ones, each sum is smoothed to a quarter of `out_channels`, and all four, resized
    to the finest, are concatenated from coarse to fine; with `use_asf` weighted by place and scale.
    """

    def __init__(
        self, channels: tuple[int, ...], *, out_channels: int, bias: bool, use_asf: bool, channel_attention: bool
    ) -> None:
        super().__init__()
        self.out_channels = out_channels
        quarter = out_channels // LEVELS
        self.unify_channels = nn.CellList([convolution(before, out_channels, 1, bias=bias) for before in channels])
        self.out = nn.CellList([convolution(out_channels, quarter, 3, bias=bias) for _ in channels])
        self.fuse = ScaleFusion(quarter, channel_attention=channel_attention) if use_asf else Join()
        on_cpu = ms.get_context("device_target") == "CPU"
        self.double = Enlarge(out_channels, 2, by_convolution=on_cpu)
        self.enlarge = nn.CellList([Enlarge(quarter, 2**level, by_convolution=on_cpu) for level in range(1, LEVELS)])

    def construct(self, features: tuple[Tensor, ...]) -> Tensor:
        merged = self.unify_channels[3](features[3])
        maps: tuple[Tensor, ...] = (self.enlarge[2](self.out[3](merged)),)
        for level in (2, 1):
            merged = self.unify_channels[level](features[level]) + self.double(merged)
            maps += (self.enlarge[level - 1](self.out[level](merged)),)
        merged = self.unify_channels[0](features[0]) + self.double(merged)
        return self.fuse((*maps, self.out[0](merged)))


class Join(nn.Cell):
    """Maps (N, C, H, W) to one (N, 4 C, H, W)."""

    def construct(self, maps: tuple[Tensor, ...]) -> Tensor:
        return ops.concat(maps, 1)


class ScaleFusion(nn.Cell):
    """Four maps (N, C, H, W), coarse to fine, to one (N, 4 C, H, W): every map times its weight at every pixel.

    The attentions of channel and place, between 0 and 1, are added to their inputs.
    """

    def __init__(self, channels: int, *, channel_attention: bool) -> None:
        super().__init__()
        self.conv = convolution(LEVELS * channels, channels, 3, bias=True)
        self.channel_attention = channel_attention
        if channel_attention:
            squeezed = max(1, channels // SQUEEZE)
            self.chan_att = nn.SequentialCell(
                convolution(channels, squeezed, 1), nn.ReLU(), convolution(squeezed, channels, 1), nn.Sigmoid()
            )
        self.spat_att = nn.SequentialCell(convolution(1, 1, 3), nn.ReLU(), convolution(1, 1, 1), nn.Sigmoid())
        self.scale_att = nn.SequentialCell(convolution(channels, LEVELS, 1), nn.Sigmoid())

    def construct(self, maps: tuple[Tensor, ...]) -> Tensor:
        joined = self.conv(ops.concat(maps, 1))
        if self.channel_attention:
            joined = joined + self.chan_att(ops.mean(joined, (2, 3), True))
        joined = joined + self.spat_att(ops.mean(joined, 1, True))
        one, two, three, four = ops.split(self.scale_att(joined), 1, 1)
        return ops.concat((one * maps[0], two * maps[1], three * maps[2], four * maps[3]), 1)
