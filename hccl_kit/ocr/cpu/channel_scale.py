"""Maps times a weight of each channel, by a normalisation.

MindSpore 2.10 computes a product that repeats one factor over pixels one index at a time, ten to twenty times as long
as a product of equal shapes (measured), and keeps the indices of all pixels until the process ends, 16 bytes for each.
"""

from __future__ import annotations

from pathlib import Path

from mindspore import Tensor, nn, ops

from hccl_kit.ocr.cpu.children import replace_children
from hccl_kit.ocr.models.ppocr import lcnet_v4

EPSILON = 1e-5


class Scale(nn.Cell):
    """Maps (N, C, H, W) times weights (N, C, 1, 1)."""

    def __init__(self) -> None:
        super().__init__()
        self.normalise = ops.BatchNorm(is_training=False, epsilon=EPSILON)

    def construct(self, x: Tensor, weights: Tensor) -> Tensor:
        # A normalisation of mean 0 and variance 1 scales each channel, and all images are one of N C channels.
        count, channels, height, width = x.shape
        flat = ops.reshape(weights, (-1,))
        mean = ops.zeros_like(flat)
        maps = ops.reshape(x, (1, -1, height, width))
        scaled = self.normalise(maps, flat, mean, mean, ops.ones_like(flat) - EPSILON)[0]
        return ops.reshape(scaled, (count, channels, height, width))


def replace(network: nn.Cell, _: Path) -> None:
    """Scale the channels of `network` by a normalisation."""
    replace_children(network, lcnet_v4.Scale, lambda _: Scale())
