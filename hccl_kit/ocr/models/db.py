"""DBNet and DBNet++: text detection by differentiable binarisation.

After Liao, Wan, Yao, Chen, Bai 2019, "Real-time Scene Text Detection with Differentiable Binarization", and for the
adaptive scale fusion Liao et al. 2022. The backbones have no deformable convolutions. Parameters have MindOCR's names,
so that its checkpoints fit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from mindspore import Tensor, nn, ops
from mindspore.common.initializer import HeUniform

from hccl_kit.ocr.models.fpn import convolution

Maps: TypeAlias = "Tensor | tuple[Tensor, Tensor, Tensor]"


def double(before: int, after: int) -> nn.Conv2dTranspose:
    """A transposed convolution that doubles height and width."""
    return nn.Conv2dTranspose(before, after, 2, stride=2, pad_mode="valid", has_bias=True, weight_init=HeUniform())


def normalised_branch(channels: int, *, bias: bool) -> nn.SequentialCell:
    """A map (N, C, H/4, W/4) to (N, 1, H, W) with values from 0 to 1."""
    width = channels // 4
    return nn.SequentialCell(
        convolution(channels, width, 3, bias=bias),
        nn.BatchNorm2d(width),
        nn.ReLU(),
        double(width, width),
        nn.BatchNorm2d(width),
        nn.ReLU(),
        double(width, 1),
        nn.Sigmoid(),
    )


class DBHead(nn.Cell):
    """Features (N, C, H/4, W/4) to the probability of text (N, 1, H, W).

    In training, if `adaptive`, three such maps: probability P, threshold T, and the binary map that follows from them
    with steepness `k`. The paper has sigmoid(k (P - T)); MindOCR, whose models are trained with it, has
    sigmoid(k P - T), which stays above 0.26. `k_scales_threshold` selects the paper's formula.
    `branch` makes the layers of the first two maps.
    """

    def __init__(
        self,
        channels: int,
        branch: Callable[..., nn.Cell] = normalised_branch,
        *,
        k: float,
        bias: bool,
        adaptive: bool,
        k_scales_threshold: bool,
    ) -> None:
        super().__init__()
        self.k = k
        self.threshold_scale = k if k_scales_threshold else 1
        self.adaptive = adaptive
        self.segm = branch(channels, bias=bias)
        if adaptive:
            self.thresh = branch(channels, bias=bias)

    def construct(self, features: Tensor) -> Maps:
        probability = self.segm(features)
        if not (self.training and self.adaptive):
            return probability
        threshold = self.thresh(features)
        return probability, threshold, ops.sigmoid(self.k * probability - self.threshold_scale * threshold)
