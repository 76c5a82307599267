"""The detectors of PP-OCR: a backbone, a pyramid and the head of DBNet.

PP-OCRv6: PPLCNetV4 and RepLKFPN (tiny, small) or RepLKPAN (medium). PP-OCRv5 mobile: PPLCNetV3 and RSEFPN. With
`branches` of the backbone, neck and head too have the form in which PaddleOCR trains.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from mindspore import nn

from hccl_kit.ocr.config import options_of
from hccl_kit.ocr.models.db import DBHead, double
from hccl_kit.ocr.models.fpn import convolution
from hccl_kit.ocr.models.network import Network
from hccl_kit.ocr.models.ppocr import lcnet_v3, lcnet_v4
from hccl_kit.ocr.models.ppocr.aux_head import AuxDBHead, AuxNetwork
from hccl_kit.ocr.models.ppocr.convolutions import Normed, NormedDouble
from hccl_kit.ocr.models.ppocr.pyramid import RSEFPN, RepLKFPN, RepLKPAN

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
