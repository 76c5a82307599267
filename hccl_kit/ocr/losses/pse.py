"""The loss of PSENet (Wang et al. 2019, "Shape Robust Text Detection with Progressive Scale Expansion Network")."""

from __future__ import annotations

import mindspore as ms
from mindspore import Tensor, nn, ops

from hccl_kit.ocr.losses.pixels import flat, hardest
from hccl_kit.ocr.models.bilinear import EDGES, bilinear

EPS = 0.001
LOWEST = -1e9
"""Below any logit."""


class PSEDiceLoss(nn.Cell):
    """`alpha` * dice(text) + (1 - `alpha`) * the mean dice of the kernels.

    Inputs: logits (N, 1 + kernels, H/4, W/4); texts (N, H, W), kernels (N, kernels, H, W) and mask (N, H, W), each 0 or
    1. The loss of the text map is over all positive pixels and, in each image, `ohem_ratio` times as many of the
    hardest negatives; that of the kernels over the pixels where the network predicts text. An image without text has no
    effect. MindOCR indexes beyond the end of the list of negatives, which fails on CPU; this follows the paper.
    """

    def __init__(self, *, alpha: float = 0.7, ohem_ratio: float = 3) -> None:
        super().__init__()
        self.alpha = alpha
        self.ohem_ratio = ohem_ratio

    def construct(self, logits: Tensor, texts: Tensor, kernels: Tensor, mask: Tensor) -> Tensor:
        logits = bilinear(logits.astype(ms.float32), texts.shape[1], texts.shape[2], keeps=EDGES)
        text, texts, mask = flat(logits[:, 0]), flat(texts), flat(mask)
        of_text = dice(ops.sigmoid(text), texts, self._learnt(text, texts, mask))
        seen = ops.stop_gradient((text > 0).astype(ms.float32)) * mask
        of_kernels = 0.0
        count = kernels.shape[1]
        for number in range(count):
            of_kernels += dice(ops.sigmoid(flat(logits[:, number + 1])), flat(kernels[:, number]), seen)
        return self.alpha * of_text + (1 - self.alpha) * of_kernels / count

    def _learnt(self, logits: Tensor, texts: Tensor, mask: Tensor) -> Tensor:
        """1 for the pixels (N, pixels) that count in the loss of the text map."""
        negative = (1 - texts) * mask
        wanted = ops.minimum(ops.reduce_sum(negative, 1), self.ohem_ratio * ops.reduce_sum(texts * mask, 1))
        hard = hardest(ops.where(negative > 0, logits, LOWEST), ops.floor(wanted))
        return ops.maximum(hard, texts) * mask


def dice(prediction: Tensor, truth: Tensor, mask: Tensor) -> Tensor:
    """1 - 2 |P G| / (|P|^2 + |G|^2), the mean over the images (Milletari et al. 2016). Inputs: (N, pixels) each."""
    prediction, truth = prediction * mask, truth * mask
    both = ops.reduce_sum(prediction * truth, 1)
    squares = ops.reduce_sum(prediction * prediction, 1) + ops.reduce_sum(truth * truth, 1)
    return 1 - ops.mean(2 * both / (squares + 2 * EPS))
