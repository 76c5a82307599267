"""The loss of DBNet, of its three maps (Liao et al. 2019, "Real-time Scene Text Detection with Differentiable
Binarization", 3.6), with the weights and the mining of hard negatives that MindOCR has.
"""

from __future__ import annotations

from typing import TypeAlias

from mindspore import Tensor, nn, ops

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.losses.pixels import flat, hardest

MIN_NEGATIVES = 10
"""Pixels that are learnt from where an image has no text."""
NEGATIVE_RATIO = 3
"""Pixels beside the text, for each one of it, that are learnt from."""

Maps: TypeAlias = Tensor | tuple[Tensor, Tensor, Tensor]


class DBLoss(nn.Cell):
    """dice(binary map) + `l1_scale` * L1(threshold map) + `bce_scale` * cross-entropy(probability map).

    Inputs: the three maps of the network, (N, 1, H, W) each: probability, threshold, binary; or the probability alone,
    of which the cross-entropy is all the loss. Then kernels (N, 1, H, W), their mask (N, H, W), thresholds (N, H, W)
    and their mask (N, H, W), of numbers from 0 to 1. `bce_replace` "diceloss" puts dice in place of the cross-entropy;
    `eps` is added to every denominator.
    """

    def __init__(
        self, *, eps: float = 1e-6, l1_scale: float = 10, bce_scale: float = 5, bce_replace: str = "bceloss"
    ) -> None:
        super().__init__()
        if bce_replace not in ("bceloss", "diceloss"):
            raise KitError(f"loss.bce_replace is {bce_replace!r}; accepted: bceloss, diceloss")
        self.eps = eps
        self.l1_scale = l1_scale
        self.bce_scale = bce_scale
        self.dice = Dice(eps)
        self.probability_loss = self.dice if bce_replace == "diceloss" else BalancedCrossEntropy(eps)

    def construct(self, prediction: Maps, kernels: Tensor, mask: Tensor, thresholds: Tensor, border: Tensor) -> Tensor:
        kernels = flat(kernels)
        mask = flat(mask)
        if not isinstance(prediction, tuple):
            return self.probability_loss(flat(prediction), kernels, mask)
        probability, threshold, binary = prediction
        border = flat(border)
        off = ops.reduce_sum(ops.abs(flat(threshold) - flat(thresholds)) * border)
        l1 = off / (ops.reduce_sum(border) + self.eps)
        of_probability = self.probability_loss(flat(probability), kernels, mask)
        return self.dice(flat(binary), kernels, mask) + self.l1_scale * l1 + self.bce_scale * of_probability


class Dice(nn.Cell):
    """1 - 2 |P and G| / (|P| + |G|) over the whole batch. Inputs: prediction, truth and mask, (N, pixels) each."""

    def __init__(self, eps: float) -> None:
        super().__init__()
        self.eps = eps

    def construct(self, prediction: Tensor, truth: Tensor, mask: Tensor) -> Tensor:
        truth = truth * mask
        both = ops.reduce_sum(prediction * truth)
        return 1 - 2 * both / (ops.reduce_sum(prediction * mask) + ops.reduce_sum(truth) + self.eps)


class BalancedCrossEntropy(nn.Cell):
    """The mean cross-entropy of all text and, in each image, the hardest three times as many pixels beside it.

    Where several pixels are as hard as the last one that counts, all of them do. Inputs: probability, truth and mask,
    (N, pixels) each.
    """

    def __init__(self, eps: float) -> None:
        super().__init__()
        self.eps = eps

    def construct(self, probability: Tensor, truth: Tensor, mask: Tensor) -> Tensor:
        text, beside = truth * mask, (1 - truth) * mask
        positives, negatives = ops.floor(ops.reduce_sum(text, 1)), ops.floor(ops.reduce_sum(beside, 1))
        wanted = ops.maximum(ops.minimum(negatives, NEGATIVE_RATIO * positives), MIN_NEGATIVES)
        losses = ops.binary_cross_entropy(probability, truth, reduction="none")
        hard = losses * beside
        sums = ops.reduce_sum(losses * text) + ops.reduce_sum(hard * hardest(hard, wanted))
        return sums / (ops.reduce_sum(positives) + ops.reduce_sum(wanted) + self.eps)
