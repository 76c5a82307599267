"""Heads at the levels of the pyramid, used only to train the detectors of PP-OCRv6.

After PaddleOCR's configurations and its `DBHead`: the sums of the pyramid at strides 16, 8 and 4, resized to a quarter
of the page, each with a head of its own. Published weights have none of them, and detection does not use them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from mindspore import Tensor, nn

from hccl_kit.ocr.models.bilinear import EDGES, bilinear
from hccl_kit.ocr.models.db import DBHead
from hccl_kit.ocr.models.network import Network
from hccl_kit.ocr.models.ppocr.pyramid import Four

LEVELS = 3
"""From coarse to fine: all sums but the coarsest."""
Maps: TypeAlias = "Tensor | tuple[Tensor, ...]"


class AuxDBHead(DBHead):
    """`DBHead` with one more at each of three levels, if `adaptive`.

    Features (N, C, H/4, W/4) alone give what `DBHead` gives. With the four sums of the pyramid, (N, C, H/s, W/s) from
    coarse to fine: twelve maps (N, 1, H, W), the three of this head and those of each level.
    """

    def __init__(
        self,
        channels: int,
        branch: Callable[..., nn.Cell],
        *,
        k: float,
        bias: bool,
        adaptive: bool,
        k_scales_threshold: bool,
    ) -> None:
        def head() -> DBHead:
            return DBHead(channels, branch, k=k, bias=bias, adaptive=adaptive, k_scales_threshold=k_scales_threshold)

        super().__init__(channels, branch, k=k, bias=bias, adaptive=adaptive, k_scales_threshold=k_scales_threshold)
        if adaptive:
            self.levels = nn.CellList([head() for _ in range(LEVELS)])

    def construct(self, features: Tensor, sums: Four | None = None) -> Maps:
        maps = super().construct(features)
        if sums is None:
            return maps
        height, width = features.shape[2], features.shape[3]
        for level in range(LEVELS):
            maps += self.levels[level](bilinear(sums[level + 1], height, width, keeps=EDGES))
        return maps


class AuxNetwork(Network):
    """Images (N, 3, H, W) to the maps of `AuxDBHead`: twelve in training, one in evaluation."""

    def construct(self, images: Tensor) -> Maps:
        sums = self.neck.sums(self.backbone(images))
        features = self.neck.join(sums)
        if self.training and self.head.adaptive:
            return self.head(features, sums)
        return self.head(features)
