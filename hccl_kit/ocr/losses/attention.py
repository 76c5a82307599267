"""The loss of a network that spells a text sign by sign."""

from __future__ import annotations

from mindspore import Tensor, nn, ops

from hccl_kit.ocr.charset import GO


class AttentionLoss(nn.Cell):
    """Cross-entropy of every sign and of the stop, as their mean over the batch; what follows a stop does not count.

    Inputs: logits (N, L, classes) float32; targets (N, L + 1) int32, each a go, the signs, a stop, and filled up with
    the go.
    """

    def construct(self, logits: Tensor, targets: Tensor) -> Tensor:
        signs = targets[:, 1:]
        counted = ops.cast(signs != GO, logits.dtype)
        chances = ops.gather_elements(ops.log_softmax(logits, 2), 2, ops.expand_dims(signs, 2))
        return -ops.reduce_sum(ops.squeeze(chances, 2) * counted) / ops.reduce_sum(counted)
