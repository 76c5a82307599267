"""The recognisers of PP-OCR: a backbone, a neck and a classifier for CTC, in training with a guiding decoder.

PP-OCRv6: PPLCNetV4 and LightSVTR (small, medium) or CTCGuide (tiny). PP-OCRv5 mobile: PPLCNetV3 and SVTREncoder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mindspore import nn

from hccl_kit.ocr.config import options_of
from hccl_kit.ocr.models.network import CTCHead, Network
from hccl_kit.ocr.models.ppocr import lcnet_v3, lcnet_v4
from hccl_kit.ocr.models.ppocr.necks import CTCGuide, LightSVTR, SVTREncoder
from hccl_kit.ocr.models.ppocr.nrtr import GuidedNetwork, MultiHead

BACKBONES: Mapping[str, Callable[..., nn.Cell]] = {
    "rec_pplcnet_v4": lcnet_v4.LineBackbone,
    "rec_pplcnet_v3": lcnet_v3.LineBackbone,
}
NECKS: Mapping[str, Callable[..., nn.Cell]] = {
    "LightSVTR": LightSVTR,
    "CTCGuide": CTCGuide,
    "SVTREncoder": SVTREncoder,
}


def build(model: Mapping[str, Any]) -> nn.Cell:
    """The network of a section `model`: from images (N, 3, 48, W), in BGR and from -1 to 1, to T time steps.

    Logits (T, N, classes) in training, else probabilities (N, T, classes), T the `sequence_length` of the backbone;
    `GuidedNetwork` says what a `MultiHead` adds. `any_width`: in evaluation, one graph takes images of all widths.
    """
    network = _build(model)
    network.any_width = True
    return network


def _build(model: Mapping[str, Any]) -> nn.Cell:
    backbone = BACKBONES[model["backbone"]["name"]](**options_of(model["backbone"]))
    neck = NECKS[model["neck"]["name"]](backbone.out_channels, **options_of(model["neck"]))
    options = options_of(model["head"])
    if model["head"]["name"] == "MultiHead":
        return GuidedNetwork(backbone, neck, MultiHead(neck.out_channels, backbone.out_channels, **options))
    return Network(backbone, neck, CTCHead(neck.out_channels, **options))
