"""The losses of pages, after their papers, with the weights of MindOCR or of PP-OCRv6.

DBNet: Liao et al. 2019, "Real-time Scene Text Detection with Differentiable Binarization", 3.6; PP-OCRv6 has further
heads in training, see `models.ppocr.aux_head`. PSENet: Wang et al. 2019, "Shape Robust Text Detection with Progressive
Scale Expansion Network", 3.4. EAST: Zhou et al. 2017, "EAST: An Efficient and Accurate Scene Text Detector", 3.4, with
dice in place of the balanced cross-entropy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import mindspore as ms
from mindspore import Tensor, nn, ops

from hccl_kit.ocr.models.bilinear import EDGES, bilinear


def flat(maps: Tensor) -> Tensor:
    """(N, ...) to (N, pixels) float32."""
    return ops.reshape(maps, (maps.shape[0], -1)).astype(ms.float32)


def hardest(values: Tensor, wanted: Tensor) -> Tensor:
    """1 for the `wanted` (N,) greatest of (N, pixels) and values equal to the last of them, 0 for the others."""
    values = ops.stop_gradient(values)
    ordered = ops.sort(values, 1, True)[0]
    last = ops.clamp(wanted, 1, values.shape[1]).astype(ms.int32) - 1
    cut = ops.gather_elements(ordered, 1, ops.reshape(last, (-1, 1)))
    return ops.stop_gradient((values >= cut).astype(ms.float32))


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


PSE_EPS = 0.001
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
    return 1 - ops.mean(2 * both / (squares + 2 * PSE_EPS))


ANGLE_SCALE = 10
EAST_EPS = 1e-5
UPPER, LOWER, LEFT, RIGHT = range(4)
PAIRS = {False: (UPPER, LEFT, LOWER, RIGHT), True: (UPPER, LOWER, LEFT, RIGHT)}


class EASTLoss(nn.Cell):
    """dice(score) + the mean over all text pixels of 10 (1 - cos(angle error)) - log(IoU of the rectangles).

    Inputs: maps (N, 6, H, W) of the head; scores (N, 1, H, W), 1 inside the texts; distances and angles (N, 5, H, W);
    ignored (N, 1, H, W), 1 for pixels that the loss ignores. Sums are over the whole batch. `geometric_iou` computes
    the area of a rectangle as height times width; the default is (upper + left) * (lower + right), as in MindOCR, which
    assumes another order of the distances.
    """

    def __init__(self, *, geometric_iou: bool = False) -> None:
        super().__init__()
        self.pairs = PAIRS[geometric_iou]

    def construct(self, maps: Tensor, scores: Tensor, geometry: Tensor, ignored: Tensor) -> Tensor:
        maps = maps.astype(ms.float32)
        score = maps[:, :1] * (1 - ignored)
        both = ops.reduce_sum(scores * score)
        dice = 1 - 2 * both / (ops.reduce_sum(scores) + ops.reduce_sum(score) + EAST_EPS)
        angle = 1 - ops.cos(maps[:, 5:] - geometry[:, 4:])
        off = ANGLE_SCALE * angle - ops.log(self._iou(maps[:, 1:5], geometry[:, :4]))
        return dice + ops.reduce_sum(off * scores) / ops.maximum(ops.reduce_sum(scores), 1.0)

    def _iou(self, boxes: Tensor, truth: Tensor) -> Tensor:
        """IoU of rectangles around the same pixel, (N, 1, H, W), with 1 added to both areas."""
        both = self._area(ops.minimum(boxes, truth))
        return (both + 1) / (self._area(boxes) + self._area(truth) - both + 1)

    def _area(self, far: Tensor) -> Tensor:
        one, two, three, four = self.pairs
        first, second = (
            far[:, one : one + 1] + far[:, two : two + 1],
            far[:, three : three + 1] + far[:, four : four + 1],
        )
        return first * second
