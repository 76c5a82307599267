"""The loss of an autoregressive attention decoder."""

from __future__ import annotations

from mindspore import Tensor, nn, ops

from hccl_kit.ocr.charset import BOS


class AttentionLoss(nn.Cell):
    """The mean cross-entropy over all tokens of the batch up to and including EOS; the padding does not count.

    Inputs: logits (N, L, classes) float32; targets (N, L + 1) int32: BOS, the characters, EOS, padded with BOS.
    """

    def construct(self, logits: Tensor, targets: Tensor) -> Tensor:
        tokens = targets[:, 1:]
        counted = ops.cast(tokens != BOS, logits.dtype)
        logs = ops.gather_elements(ops.log_softmax(logits, 2), 2, ops.expand_dims(tokens, 2))
        return -ops.reduce_sum(ops.squeeze(logs, 2) * counted) / ops.reduce_sum(counted)
