"""RARE without its rectifier: convolutions, a recurrent network over their columns, an autoregressive attention head.

After Shi, Wang, Lyu, Yao, Bai 2016, "Robust Scene Text Recognition with Automatic Rectification". Parameters have
MindOCR's names, so that its checkpoints fit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mindspore import Tensor, nn

from hccl_kit.ocr.config import options_of
from hccl_kit.ocr.models.attention_head import AttentionHead
from hccl_kit.ocr.models.crnn import RNNEncoder
from hccl_kit.ocr.models.network import Network


class Rare(Network):
    """Images (N, 3, 32, W) and, in training, targets (N, L + 1) int32 to the outputs of AttentionHead."""

    guided = True
    """Teacher forcing: in training the network takes the targets of the loss as well as the images."""

    def construct(self, images: Tensor, targets: Tensor | None = None) -> Tensor:
        return self.head(self.neck(self.backbone(images)), targets)


def build(model: Mapping[str, Any], *, backbone: Callable[..., nn.Cell]) -> Rare:
    """The network of a section `model`; `backbone` makes features (N, C, 1, T) of images, C in its `out_channels`."""
    features = backbone(**options_of(model["backbone"]))
    neck = RNNEncoder(features.out_channels, **options_of(model["neck"]))
    return Rare(features, neck, AttentionHead(neck.out_channels, **options_of(model["head"])))
