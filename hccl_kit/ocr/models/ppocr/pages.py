"""The detectors of PP-OCR: a backbone, a pyramid and the head of DBNet.

PP-OCRv6: PPLCNetV4 and RepLKFPN (tiny, small) or RepLKPAN (medium). PP-OCRv5 mobile: PPLCNetV3 and RSEFPN. With
`branches` of the backbone, neck and head too have the form in which PaddleOCR trains. PP-OCRv6 is trained with heads at
the levels of the pyramid too: the sums at strides 16, 8 and 4, resized to a quarter of the page, each with a head of
its own. Published weights have none of them, and detection does not use them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

from mindspore import Tensor, nn

from hccl_kit.ocr.config import options_of
from hccl_kit.ocr.models.bilinear import EDGES, bilinear
from hccl_kit.ocr.models.db import DBHead, double
from hccl_kit.ocr.models.fpn import convolution
from hccl_kit.ocr.models.network import Network
from hccl_kit.ocr.models.ppocr import lcnet_v3, lcnet_v4
from hccl_kit.ocr.models.ppocr.convolutions import Normed, NormedDouble
from hccl_kit.ocr.models.ppocr.pyramid import RSEFPN, Four, RepLKFPN, RepLKPAN

LEVELS = 3
"""From coarse to fine: all sums but the coarsest."""
Maps: TypeAlias = "Tensor | tuple[Tensor, ...]"


class AuxDBHead(DBHead):
    """`DBHead` with one more at each of three levels, if `adaptive`.

    Features (N, C, H/4, W/4) alone give what `DBHead` gives. With the four sums of the pyramid, (N, C, H/s, W/s) from
    coarse to fine: twelve maps (N, 1, H, W), the three of this head and those of each level.
    """

    def __init__(self, channels: int, branch: Callable[..., nn.Cell], **options: Any) -> None:
        super().__init__(channels, branch, **options)
        if self.adaptive:
            self.levels = nn.CellList([DBHead(channels, branch, **options) for _ in range(LEVELS)])

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


BACKBONES: Mapping[str, Callable[..., nn.Cell]] = {
    "det_pplcnet_v4": lcnet_v4.PageBackbone,
    "det_pplcnet_v3": lcnet_v3.PageBackbone,
}
NECKS: Mapping[str, Callable[..., nn.Cell]] = {"RepLKFPN": RepLKFPN, "RepLKPAN": RepLKPAN, "RSEFPN": RSEFPN}
HEADS: Mapping[str, tuple[type[Network], type[DBHead]]] = {
    "DBHead": (Network, DBHead),
    "AuxDBHead": (AuxNetwork, AuxDBHead),
}
"""Each head with the network that passes its inputs."""


def build(model: Mapping[str, Any]) -> Network:
    """The network of a section `model`: from images (N, 3, H, W) in BGR to the maps of DBNet, (N, 1, H, W) each.

    H and W are multiples of 32.
    """
    options = options_of(model["backbone"])
    branches = options.get("branches", False)
    backbone = BACKBONES[model["backbone"]["name"]](**options)
    neck = NECKS[model["neck"]["name"]](backbone.out_channels, branches, **options_of(model["neck"]))
    branch = partial(_branch, branches=branches)
    whole, head = HEADS[model["head"]["name"]]
    return whole(backbone, neck, head(neck.out_channels, branch, **options_of(model["head"])))


def _branch(channels: int, *, bias: bool, branches: bool) -> nn.SequentialCell:
    """A map (N, C, H/4, W/4) to (N, 1, H, W) with values from 0 to 1; `bias` of the first convolution, if folded."""
    width = channels // 4
    first = Normed(channels, width, 3) if branches else convolution(channels, width, 3, bias=bias)
    second = NormedDouble(width, width) if branches else double(width, width)
    return nn.SequentialCell(first, nn.ReLU(), second, nn.ReLU(), double(width, 1), nn.Sigmoid())
