"""RepLKPAN, the neck of the medium detector of PP-OCRv6: a pyramid down and up again, with large kernels.

After PaddleOCR's configurations of PP-OCRv6; the way up as in Liu et al. 2018, "Path Aggregation Network for Instance
Segmentation". The folded form has the published number of parameters; no published file of it was read here. Cells are
created in the order in which they run, see `lcnet_v4`.
"""

from __future__ import annotations

from mindspore import Tensor, nn, ops

from hccl_kit.ocr.models.fpn import LEVELS
from hccl_kit.ocr.models.ppocr.convolutions import Normed, convolution, large_kernel, layer
from hccl_kit.ocr.models.ppocr.pyramid import Four, Pyramid, without_bias

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
