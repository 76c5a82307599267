"""MobileNetV3 small as a classifier: whether a line of text lies upside down.

After Howard et al. 2019, "Searching for MobileNetV3", table 2, in the variant of MindOCR's classifier, with the same
parameter names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mindspore import Tensor, nn, ops
from mindspore.common.initializer import Normal

from hccl_kit.ocr.config import options_of
from hccl_kit.ocr.models.dropout import Dropout
from hccl_kit.ocr.models.mobilenet_v3 import SMALL, STEM, HardSwish, InvertedResidual, convolution, scaled
from hccl_kit.ocr.models.network import Network

LAST = 576
"""Channels of the features."""
KINDS, HIDDEN = 1000, 1024
"""Sizes of the ImageNet classifier, which the checkpoints contain and the network does not use."""


class SqueezeExcite(nn.Cell):
    """A map (N, C, H, W) times a weight for each of its channels, by 1x1 convolutions and a hard sigmoid."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        inside = scaled(channels, 1 / 4)
        self.conv_reduce = nn.Conv2d(channels, inside, 1, has_bias=True)
        self.conv_expand = nn.Conv2d(inside, channels, 1, has_bias=True)

    def construct(self, x: Tensor) -> Tensor:
        squeezed = ops.relu(self.conv_reduce(ops.mean(x, (2, 3), keep_dims=True)))
        return x * (ops.relu6(self.conv_expand(squeezed) + 3) / 6)


class ClsMobileNetV3(nn.Cell):
    """Images (N, 3, H, W) to features (N, 576, H/32, W/32)."""

    out_channels = LAST

    def __init__(self) -> None:
        super().__init__()
        cells = [convolution(3, STEM, 3, stride=2), nn.BatchNorm2d(STEM), HardSwish()]
        width = STEM
        for row in SMALL:
            cells.append(InvertedResidual(width, row, always_expand=False, squeeze=SqueezeExcite))
            width = row.after
        cells += [convolution(width, LAST), nn.BatchNorm2d(LAST), HardSwish()]
        self.features = nn.SequentialCell(*cells)
        start = {"weight_init": Normal(0.01), "bias_init": "zeros"}
        self.classifier = nn.SequentialCell(
            nn.Dense(LAST, HIDDEN, **start), nn.Identity(), nn.Identity(), nn.Dense(HIDDEN, KINDS, **start)
        )

    def construct(self, images: Tensor) -> Tensor:
        return self.features(images)


class MobileNetV3Head(nn.Cell):
    """Features (N, C, h, w) to probabilities (N, classes), in training too."""

    def __init__(self, channels: int, *, num_classes: int, hidden_channels: int = 1024, dropout: float = 0.2) -> None:
        super().__init__()
        self.classifier = nn.SequentialCell(
            nn.Dense(channels, hidden_channels), HardSwish(), Dropout(dropout), nn.Dense(hidden_channels, num_classes)
        )

    def construct(self, features: Tensor) -> Tensor:
        return ops.softmax(self.classifier(ops.mean(features, (2, 3))), 1)


def build(model: Mapping[str, Any]) -> Network:
    """The network of a section `model`: images (N, 3, H, W) to probabilities (N, classes)."""
    backbone = ClsMobileNetV3()
    head = MobileNetV3Head(backbone.out_channels, **options_of(model["head"]))
    return Network(backbone, nn.Identity(), head)
