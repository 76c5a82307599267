"""The structure of all detectors: a backbone with maps at four strides, a neck that joins them, and a head."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from mindspore import nn

from hccl_kit.ocr.config import options_of
from hccl_kit.ocr.models.mobilenet_v3 import mobilenet_v3
from hccl_kit.ocr.models.network import Network
from hccl_kit.ocr.models.resnet import BasicBlock, Bottleneck, ResNet

BACKBONES: dict[str, Callable[..., nn.Cell]] = {
    "det_resnet18": partial(ResNet, BasicBlock, (2, 2, 2, 2)),
    "det_resnet50": partial(ResNet, Bottleneck, (3, 4, 6, 3)),
    "det_resnet152": partial(ResNet, Bottleneck, (3, 8, 36, 3)),
    "det_mobilenet_v3": mobilenet_v3,
}


def build(model: Mapping[str, Any], *, neck: Callable[..., nn.Cell], head: Callable[..., nn.Cell]) -> Network:
    """The network of a section `model`; the keys of its parts are their options.

    `neck` takes the channels of the four maps, `head` those of the neck.
    """
    options = options_of(model["backbone"])
    options.pop("bottleneck_params", None)  # the variant of MobileNetV3, of which there is only one
    backbone = BACKBONES[model["backbone"]["name"]](**options)
    joined = neck(backbone.out_channels, **options_of(model["neck"]))
    return Network(backbone, joined, head(joined.out_channels, **options_of(model["head"])))
