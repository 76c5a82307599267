"""The structure of all detectors: a backbone with maps at four strides, a neck that joins them, and a head."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from mindspore import Tensor, nn

from hccl_kit.ocr.config import options_of
from hccl_kit.ocr.models.mobilenet_v3 import mobilenet_v3
from hccl_kit.ocr.models.resnet import resnet18, resnet50, resnet152

BACKBONES: dict[str, Callable[..., nn.Cell]] = {
    "det_resnet18": resnet18,
    "det_resnet50": resnet50,
    "det_resnet152": resnet152,
    "det_mobilenet_v3": mobilenet_v3,
}
Maps: TypeAlias = "Tensor | tuple[Tensor, ...]"


class Detector(nn.Cell):
    """Images (N, 3, H, W) to the outputs of the head."""

    def __init__(self, backbone: nn.Cell, neck: nn.Cell, head: nn.Cell) -> None:
        super().__init__()
        self.backbone = backbone
        self.neck = neck
        self.head = head

    def construct(self, images: Tensor) -> Maps:
        return self.head(self.neck(self.backbone(images)))


def build(model: Mapping[str, Any], *, neck: Callable[..., nn.Cell], head: Callable[..., nn.Cell]) -> Detector:
    """The network of a section `model`; the keys of its parts are their options.

    `neck` takes the channels of the four maps, `head` those of the neck.
    """
    options = options_of(model["backbone"])
    options.pop("bottleneck_params", None)  # the variant of MobileNetV3, of which there is only one
    backbone = BACKBONES[model["backbone"]["name"]](**options)
    joined = neck(backbone.out_channels, **options_of(model["neck"]))
    return Detector(backbone, joined, head(joined.out_channels, **options_of(model["head"])))
