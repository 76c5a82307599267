"""The loss of DBNet for its three maps, with MindOCR's weights and hard negative mining, or PP-OCRv6's focal loss.

PP-OCRv6 has further heads in training, see `models.ppocr.aux_head`.

After Liao et al. 2019, "Real-time Scene Text Detection with Differentiable Binarization", 3.6.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from mindspore import Tensor, nn, ops

from hccl_kit.ocr.losses.pixels import flat, hardest

MIN_NEGATIVES = 10
"""Least number of negative pixels per image, also without text."""
NEGATIVE_RATIO = 3
"""Negative-to-positive pixel ratio for OHEM."""
ALPHA = 0.25
"""Focal loss: the weight of text pixels; other pixels have 1 - ALPHA."""

EACH = 3
"""Maps of a head: probability, threshold, binary."""

Maps: TypeAlias = Tensor | tuple[Tensor, ...]


class DBLoss(nn.Cell):
    """dice(binary map) + `l1_scale` * L1(threshold map) + `bce_scale` * cross-entropy(probability map).

    As in MindOCR. `bce_replace` "diceloss" replaces the cross-entropy by dice; "dicefocalloss" replaces it and the dice
    of the binary map by the sum of dice and focal loss, as PP-OCRv6 is trained.

    Inputs: the three maps of the network, (N, 1, H, W) each: probability, threshold, binary; or the probability alone,
    whose cross-entropy is then the whole loss. Then kernels (N, 1, H, W), their mask (N, H, W), thresholds (N, H, W)
    and their mask (N, H, W), all from 0 to 1. `eps` is added to every denominator.
    """

    def __init__(
        self, *, eps: float = 1e-6, l1_scale: float = 10, bce_scale: float = 5, bce_replace: str = "bceloss"
    ) -> None:
        super().__init__()
        kinds: dict[str, Callable[[float], nn.Cell]] = {
            "bceloss": BalancedCrossEntropy,
            "diceloss": Dice,
            "dicefocalloss": DiceFocal,
        }
        self.eps = eps
        self.l1_scale = l1_scale
        self.bce_scale = bce_scale
        self.probability_loss = kinds[bce_replace](eps)
        self.binary_loss = DiceFocal(eps) if bce_replace == "dicefocalloss" else Dice(eps)

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
        return self.binary_loss(flat(binary), kernels, mask) + self.l1_scale * l1 + self.bce_scale * of_probability


class AuxDBLoss(DBLoss):
    """`DBLoss` of the head of a network, plus that of each further head times its factor in `aux_scales`.

    The defaults are those with which PP-OCRv6 is trained, from coarse to fine. Inputs are those of `DBLoss`, with three
    maps of each head one after another.
    """

    def __init__(
        self,
        *,
        eps: float = 1e-6,
        l1_scale: float = 10,
        bce_scale: float = 5,
        bce_replace: str = "bceloss",
        aux_scales: Sequence[float] = (0.2, 0.3, 0.4),
    ) -> None:
        super().__init__(eps=eps, l1_scale=l1_scale, bce_scale=bce_scale, bce_replace=bce_replace)
        self.aux_scales = tuple(aux_scales)

    def construct(self, prediction: Maps, kernels: Tensor, mask: Tensor, thresholds: Tensor, border: Tensor) -> Tensor:
        if not isinstance(prediction, tuple) or len(prediction) == EACH:
            return super().construct(prediction, kernels, mask, thresholds, border)
        total = super().construct(prediction[:EACH], kernels, mask, thresholds, border)
        for level, scale in enumerate(self.aux_scales, 1):
            maps = prediction[EACH * level : EACH * (level + 1)]
            total = total + scale * super().construct(maps, kernels, mask, thresholds, border)
        return total


class Dice(nn.Cell):
    """1 - 2 |P and G| / (|P| + |G|) over the whole batch. Inputs: prediction, truth and mask, (N, pixels) each."""

    def __init__(self, eps: float) -> None:
        super().__init__()
        self.eps = eps

    def construct(self, prediction: Tensor, truth: Tensor, mask: Tensor) -> Tensor:
        truth = truth * mask
        both = ops.reduce_sum(prediction * truth)
        return 1 - 2 * both / (ops.reduce_sum(prediction * mask) + ops.reduce_sum(truth) + self.eps)


class DiceFocal(nn.Cell):
    """Dice plus focal loss (Lin et al. 2017), averaged over all pixels of the mask.

    -a (1 - p)^2.5 log p for a pixel with the probability p of its truth; a is 0.25 for text and 0.75 elsewhere.
    Inputs: prediction, truth and mask, (N, pixels) each.
    """

    def __init__(self, eps: float) -> None:
        super().__init__()
        self.eps = eps
        self.dice = Dice(eps)

    def construct(self, prediction: Tensor, truth: Tensor, mask: Tensor) -> Tensor:
        wrong = ops.clamp(ops.abs(truth - prediction), self.eps, 1 - self.eps)
        share = (ALPHA * truth + (1 - ALPHA) * (1 - truth)) * mask
        # The power is written out: ops.pow takes half of the time of the whole loss on CPU (measured).
        focal = share * wrong * wrong * ops.sqrt(wrong) * ops.log(1 - wrong)
        return self.dice(prediction, truth, mask) - ops.reduce_sum(focal) / (ops.reduce_sum(mask) + self.eps)


class BalancedCrossEntropy(nn.Cell):
    """The mean cross-entropy of all positive pixels and, in each image, three times as many of the hardest negatives.

    At least MIN_NEGATIVES negatives count per image, and all that tie with the last of them. Inputs: probability, truth
    and mask, (N, pixels) each.
    """

    def __init__(self, eps: float) -> None:
        super().__init__()
        self.eps = eps

    def construct(self, probability: Tensor, truth: Tensor, mask: Tensor) -> Tensor:
        positive, negative = truth * mask, (1 - truth) * mask
        positives, negatives = ops.floor(ops.reduce_sum(positive, 1)), ops.floor(ops.reduce_sum(negative, 1))
        wanted = ops.maximum(ops.minimum(negatives, NEGATIVE_RATIO * positives), MIN_NEGATIVES)
        losses = ops.binary_cross_entropy(probability, truth, reduction="none")
        hard = losses * negative
        sums = ops.reduce_sum(losses * positive) + ops.reduce_sum(hard * hardest(hard, wanted))
        return sums / (ops.reduce_sum(positives) + ops.reduce_sum(wanted) + self.eps)
