"""The necks that smooth each level of the pyramid: RepLKFPN of PP-OCRv6 (tiny, small) and RSEFPN of PP-OCRv5 mobile.

After PaddleOCR's configurations and published weights; large kernels as in Ding et al. 2022, "Scaling Up Your Kernels
to 31x31", in training with smaller ones in parallel. Cells are created in the order in which they run, see `lcnet_v4`.
"""

from __future__ import annotations

from collections.abc import Callable

from mindspore import Tensor, nn

from hccl_kit.ocr.models.fpn import LEVELS
from hccl_kit.ocr.models.ppocr.convolutions import large_kernel
from hccl_kit.ocr.models.ppocr.pyramid import Excited, Four, Pyramid


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
