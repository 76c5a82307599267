"""The recognisers of PP-OCRv6: PPLCNetV4, LightSVTR and a classifier for CTC, in training with a guiding decoder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mindspore import nn

from hccl_kit.ocr.config import options_of
from hccl_kit.ocr.models.ctc_head import CTCHead
from hccl_kit.ocr.models.network import Network
from hccl_kit.ocr.models.ppocr.lcnet_v4 import LineBackbone
from hccl_kit.ocr.models.ppocr.light_svtr import LightSVTR
from hccl_kit.ocr.models.ppocr.nrtr import GuidedNetwork, MultiHead


def build(model: Mapping[str, Any]) -> nn.Cell:
    """The network of a section `model`: from images (N, 3, 48, W), in BGR and from -1 to 1, to T time steps.

    Logits (T, N, classes) in training, else probabilities (N, T, classes), T the `sequence_length` of `lcnet_v4`;
    `GuidedNetwork` says what a `MultiHead` adds.
    """
    backbone = LineBackbone(**options_of(model["backbone"]))
    neck = LightSVTR(backbone.out_channels, **options_of(model["neck"]))
    options = options_of(model["head"])
    if model["head"]["name"] == "MultiHead":
        return GuidedNetwork(backbone, neck, MultiHead(neck.out_channels, backbone.out_channels, **options))
    return Network(backbone, neck, CTCHead(neck.out_channels, **options))
