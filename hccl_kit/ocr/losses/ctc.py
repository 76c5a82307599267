"""Connectionist temporal classification (Graves et al. 2006)."""

from __future__ import annotations

from mindspore import Tensor, nn, ops


class CTCLoss(nn.Cell):
    """The mean over the batch of -log p(label | logits), as in MindOCR: not divided by the label's length.

    Inputs: logits (T, N, classes) float32; labels (N, L) int32, padded with any class; lengths (N,) int32, each at
    least 1 and small enough for T (a repeated character needs a blank in between).
    """

    def __init__(self, blank: int) -> None:
        super().__init__()
        self.blank = blank

    def construct(self, logits: Tensor, labels: Tensor, lengths: Tensor) -> Tensor:
        steps = ops.ones_like(lengths) * logits.shape[0]
        losses = ops.ctc_loss(ops.log_softmax(logits, 2), labels, steps, lengths, self.blank, "none")[0]
        return ops.reduce_mean(losses)
