"""RARE without its rectifier: convolutions, a recurrent network over their columns, and a head that spells.

After Shi, Wang, Lyu, Yao, Bai 2016, "Robust Scene Text Recognition with Automatic Rectification". Parameters are named
as MindOCR names them, so that its checkpoints fit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mindspore import Tensor, nn

from hccl_kit.ocr.models import crnn, crnn_small
from hccl_kit.ocr.models.attention_head import AttentionHead


class Rare(nn.Cell):
    """Images (N, 3, 32, W) and, in training, targets (N, L + 1) to what AttentionHead makes of them."""

    guided = True
    """The training gives it the targets of the loss beside the images."""

    def __init__(self, backbone: nn.Cell, neck: nn.Cell, head: AttentionHead) -> None:
        super().__init__()
        self.backbone = backbone
        self.neck = neck
        self.head = head

    def construct(self, images: Tensor, targets: Tensor | None = None) -> Tensor:
        return self.head(self.neck(self.backbone(images)), targets)


def build(model: Mapping[str, Any]) -> Rare:
    """The network that the section `model` of a configuration describes."""
    backbone, channels = _backbone(model["backbone"])
    options, head = ({k: v for k, v in model[part].items() if k != "name"} for part in ("neck", "head"))
    neck = crnn.RNNEncoder(channels, **options)
    return Rare(backbone, neck, AttentionHead(neck.out_channels, **head))


def _backbone(options: Mapping[str, Any]) -> tuple[nn.Cell, int]:
    """From images to features (N, C, 1, T), and C."""
    name = options["name"]
    if name in crnn.BACKBONES:
        large = crnn.BACKBONES[name]()
        return large, large.out_channels
    small = crnn_small.Backbone(name, options["channels"])
    return small.features, small.out_channels
