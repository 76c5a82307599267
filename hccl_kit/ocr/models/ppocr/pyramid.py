"""The necks of the detectors of PP-OCR: coarse maps are added to the finer ones, and each sum is smoothed.

RepLKFPN is that of PP-OCRv6 (tiny, small), RepLKPAN that of its medium detector, RSEFPN that of PP-OCRv5 mobile. After
Lin et al. 2017, "Feature Pyramid Networks for Object Detection", and PaddleOCR's configurations; large kernels as in
Ding et al. 2022, "Scaling Up Your Kernels to 31x31", in training with smaller ones in parallel; the way up again as in
Liu et al. 2018, "Path Aggregation Network for Instance Segmentation". The folded form of RepLKPAN has the published
number of parameters; no published file of it was read here. Cells are created in the order in which they run, see
`lcnet_v4`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import mindspore as ms
from mindspore import Tensor, nn, ops
from mindspore.common.initializer import HeUniform

from hccl_kit.ocr.models.fpn import LEVELS, Enlarge
from hccl_kit.ocr.models.ppocr.convolutions import Normed, convolution, large_kernel, layer
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


class Smooth(nn.Cell):
    """A map (N, C, H, W) to (N, C/4, H, W): a large depthwise kernel in space, then channels."""

    def __init__(self, channels: int, kernel: int, *, branches: bool) -> None:
        super().__init__()
        self.depthwise = large_kernel(channels, kernel, branches=branches)
        self.reduce = Excited(channels, channels // LEVELS)

    def construct(self, x: Tensor) -> Tensor:
        return self.reduce(self.depthwise(x))


class SmoothPyramid(Pyramid):
    """Each sum is smoothed to a quarter of `out_channels`; all four are concatenated from coarse to fine."""

    def __init__(self, channels: tuple[int, ...], out_channels: int, smooth: Callable[[], nn.Cell]) -> None:
        super().__init__((Excited(before, out_channels) for before in reversed(channels)), out_channels)
        self.smooth = nn.CellList([smooth() for _ in channels])

    def join(self, sums: Four) -> Tensor:
        one, two, three, four = sums
        return self.concatenated(
            (self.smooth[0](one), self.smooth[1](two), self.smooth[2](three), self.smooth[3](four))
        )


class RepLKFPN(SmoothPyramid):
    """Sums are smoothed by a kernel of `kernel` x `kernel`; `out_channels` is a multiple of 16."""

    def __init__(self, channels: tuple[int, ...], branches: bool = False, *, out_channels: int, kernel: int) -> None:
        super().__init__(channels, out_channels, lambda: Smooth(out_channels, kernel, branches=branches))


class RSEFPN(SmoothPyramid):
    """Sums are smoothed by a convolution of 3x3; `out_channels` is a multiple of 16. Branches do not change it."""

    def __init__(self, channels: tuple[int, ...], _branches: bool = False, *, out_channels: int) -> None:
        super().__init__(channels, out_channels, lambda: Excited(out_channels, out_channels // LEVELS, 3))


SIDES = (7, 5, 3)
"""Sides of the kernels of `IntraCL`, in the order in which they run."""
SQUEEZE = 2
"""`IntraCL` works on a half of its channels."""


class Wide(nn.Cell):
    """A map (N, before, H, W) to (N, after, H, W): a large depthwise kernel in space, then channels."""

    def __init__(self, before: int, after: int, kernel: int, *, branches: bool) -> None:
        super().__init__()
        self.depthwise = large_kernel(before, kernel, branches=branches)
        self.pointwise = layer(before, after, 1, branches=branches)

    def construct(self, x: Tensor) -> Tensor:
        return self.pointwise(self.depthwise(x))


class Cross(nn.Cell):
    """The sum of a square, an upright and a flat convolution of one map: (N, C, H, W) to the same."""

    def __init__(self, channels: int, side: int) -> None:
        super().__init__()
        self.square, self.upright, self.flat = (
            nn.Conv2d(
                channels,
                channels,
                (height, width),
                pad_mode="pad",
                padding=(height // 2, height // 2, width // 2, width // 2),
                has_bias=True,
            )
            for height, width in ((side, side), (side, 1), (1, side))
        )

    def construct(self, x: Tensor) -> Tensor:
        return self.square(x) + self.upright(x) + self.flat(x)


class IntraCL(nn.Cell):
    """A map (N, C, H, W) plus what relates the pixels along texts, from kernels of three sides one after another."""

    def __init__(self, channels: int, *, branches: bool) -> None:
        super().__init__()
        inside = channels // SQUEEZE
        self.reduce = convolution(channels, inside, 1)
        self.crosses = nn.SequentialCell(*[Cross(inside, side) for side in SIDES])
        self.expand = Normed(inside, channels, 1, bias=True) if branches else convolution(inside, channels, 1)

    def construct(self, x: Tensor) -> Tensor:
        return x + ops.relu(self.expand(self.crosses(self.reduce(x))))


class RepLKPAN(Pyramid):
    """Large kernels reduce the sums to a quarter of `out_channels`, and finer ones are added to the coarser.

    Then more large kernels, `IntraCL`, and all four are concatenated from coarse to fine. `out_channels` is a multiple
    of 8, and kernels have `kernel` x `kernel` pixels.
    """

    def __init__(self, channels: tuple[int, ...], branches: bool = False, *, out_channels: int, kernel: int) -> None:
        super().__init__((without_bias(before, out_channels) for before in reversed(channels)), out_channels)
        quarter = out_channels // LEVELS
        levels = range(LEVELS)
        self.project = nn.CellList([Wide(out_channels, quarter, kernel, branches=branches) for _ in levels])
        self.halve = nn.CellList([without_bias(quarter, quarter, 3, stride=2) for _ in levels[1:]])
        self.lateral = nn.CellList([Wide(quarter, quarter, kernel, branches=branches) for _ in levels])
        self.relate = nn.CellList([IntraCL(quarter, branches=branches) for _ in levels])

    def join(self, sums: Four) -> Tensor:
        one, two, three, four = sums
        one, two = self.project[0](one), self.project[1](two)
        three, four = self.project[2](three), self.project[3](four)
        three = three + self.halve[0](four)
        two = two + self.halve[1](three)
        one = one + self.halve[2](two)
        four, three = self.lateral[0](four), self.lateral[1](three)
        two, one = self.lateral[2](two), self.lateral[3](one)
        return self.concatenated(
            (self.relate[0](one), self.relate[1](two), self.relate[2](three), self.relate[3](four))
        )
