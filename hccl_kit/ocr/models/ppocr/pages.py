"""The detectors of PP-OCRv6: PPLCNetV4, RepLKFPN and the head of DBNet without batch normalisation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mindspore import nn

from hccl_kit.ocr.config import options_of
from hccl_kit.ocr.models.db import DBHead, double
from hccl_kit.ocr.models.fpn import convolution
from hccl_kit.ocr.models.network import Network
from hccl_kit.ocr.models.ppocr.lcnet_v4 import PageBackbone
from hccl_kit.ocr.models.ppocr.rep_lk_fpn import RepLKFPN


def build(model: Mapping[str, Any]) -> Network:
    """The network of a section `model`: from images (N, 3, H, W) in BGR to the maps of DBNet, (N, 1, H, W) each.

    H and W are multiples of 32.
    """
    backbone = PageBackbone(**options_of(model["backbone"]))
    neck = RepLKFPN(backbone.out_channels, **options_of(model["neck"]))
    return Network(backbone, neck, DBHead(neck.out_channels, _branch, **options_of(model["head"])))


def _branch(channels: int, *, bias: bool) -> nn.SequentialCell:
    """A map (N, C, H/4, W/4) to (N, 1, H, W) with values from 0 to 1."""
    width = channels // 4
    first, second, last = convolution(channels, width, 3, bias=bias), double(width, width), double(width, 1)
    return nn.SequentialCell(first, nn.ReLU(), second, nn.ReLU(), last, nn.Sigmoid())
