"""PSENet: text detection by kernels of growing size.

After Wang et al. 2019, "Shape Robust Text Detection with Progressive Scale Expansion Network". Parameters have
MindOCR's names, so that its checkpoints fit.
"""

from __future__ import annotations

from mindspore import Tensor, nn, ops
from mindspore.common.initializer import TruncatedNormal

from hccl_kit.ocr.models.bilinear import ORIGIN, bilinear

MOMENTUM = 0.1
"""Momentum of the moving statistics of neck and head: the last batch has a weight of 0.9."""


def _convolution(before: int, after: int, kernel: int) -> nn.Conv2d:
    """A convolution that keeps height and width."""
    start = TruncatedNormal(0.02)
    return nn.Conv2d(before, after, kernel, pad_mode="same", has_bias=True, weight_init=start, bias_init="zeros")


class PSEFPN(nn.Cell):
    """Four maps (N, channels[i], H/s, W/s), s = 4, 8, 16, 32, to one (N, 4 out_channels, H/4, W/4).

    Coarse maps are added to the finer ones, each sum is smoothed, and all four, resized to the finest, are concatenated
    from fine to coarse.
    """

    def __init__(self, channels: tuple[int, ...], *, out_channels: int) -> None:
        super().__init__()
        self.out_channels = out_channels * len(channels)
        for level, before in enumerate(channels, 2):
            self._add("reduce", f"c{level}", _convolution(before, out_channels, 1))
        for level in (4, 3, 2):
            self._add("smooth", f"p{level}", _convolution(out_channels, out_channels, 3))

    def _add(self, step: str, level: str, convolution: nn.Conv2d) -> None:
        setattr(self, f"{step}_conv_{level}", convolution)
        setattr(self, f"{step}_bn_{level}", nn.BatchNorm2d(convolution.out_channels, momentum=MOMENTUM))

    def construct(self, features: tuple[Tensor, ...]) -> Tensor:
        two, three, four, five = features
        coarsest = ops.relu(self.reduce_bn_c5(self.reduce_conv_c5(five)))
        coarse = _sum(ops.relu(self.reduce_bn_c4(self.reduce_conv_c4(four))), coarsest)
        coarse = ops.relu(self.smooth_bn_p4(self.smooth_conv_p4(coarse)))
        fine = _sum(ops.relu(self.reduce_bn_c3(self.reduce_conv_c3(three))), coarse)
        fine = ops.relu(self.smooth_bn_p3(self.smooth_conv_p3(fine)))
        finest = _sum(ops.relu(self.reduce_bn_c2(self.reduce_conv_c2(two))), fine)
        finest = ops.relu(self.smooth_bn_p2(self.smooth_conv_p2(finest)))
        return ops.concat((finest, *(_as_large_as(finest, other) for other in (fine, coarse, coarsest))), 1)


def _sum(fine: Tensor, coarse: Tensor) -> Tensor:
    return fine + _as_large_as(fine, coarse)


def _as_large_as(fine: Tensor, coarse: Tensor) -> Tensor:
    return bilinear(coarse, fine.shape[2], fine.shape[3], keeps=ORIGIN)


class PSEHead(nn.Cell):
    """Features (N, C, H/4, W/4) to logits (N, out_channels, H/4, W/4): text, then its kernels, large to small."""

    def __init__(self, channels: int, *, hidden_size: int, out_channels: int) -> None:
        super().__init__()
        self.conv1 = _convolution(channels, hidden_size, 3)
        self.bn1 = nn.BatchNorm2d(hidden_size, momentum=MOMENTUM)
        self.conv2 = _convolution(hidden_size, out_channels, 1)

    def construct(self, features: Tensor) -> Tensor:
        return self.conv2(ops.relu(self.bn1(self.conv1(features))))
