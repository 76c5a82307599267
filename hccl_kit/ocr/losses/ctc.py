"""Connectionist temporal classification (Graves et al. 2006)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from mindspore import Tensor, nn, ops

NEVER = -1.0e4
"""A log-probability whose exponential is 0."""
LEAST = 1.0e-30
"""The least probability of all other classes: its logarithm is finite."""


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


class CaselessCTCLoss(nn.Cell):
    """`CTCLoss` of labels whose case is unknown: a character of a label stands for itself and for its other case.

    So a network keeps reading the printed case although all labels are in one case. Inputs as of `CTCLoss`.
    other_case[c] is the class of the other case of class c, or c itself if it has none. A label with a class c for
    which tells_case[c] is true has a known case: each of its characters stands for itself only.

    The classes are first reduced to those of a sample: one for each character of its label with its other case, one for
    the rest, one for the blank. They still sum to 1, as the gradient of `ops.ctc_loss` demands, and the sum over all
    paths is over some dozens of classes instead of thousands.
    """

    def __init__(self, blank: int, other_case: Sequence[int], tells_case: Sequence[bool]) -> None:
        super().__init__()
        self.blank = blank
        self.other_case = Tensor(np.array([*other_case, blank], np.int32))
        self.tells_case = Tensor(np.array([*tells_case, False], np.int32))

    def construct(self, logits: Tensor, labels: Tensor, lengths: Tensor) -> Tensor:
        count, longest = labels.shape
        place = ops.arange(longest)
        inside = ops.cast(place < ops.expand_dims(lengths, 1), labels.dtype)
        known = ops.reduce_sum(ops.gather(self.tells_case, labels, 0) * inside, 1) > 0
        known = ops.broadcast_to(ops.expand_dims(known, 1), labels.shape)
        others = ops.select(known, labels, ops.gather(self.other_case, labels, 0))
        classes = ops.concat((labels, others, ops.full_like(labels[:, :1], self.blank)), 1)
        columns = ops.broadcast_to(ops.expand_dims(classes, 0), (logits.shape[0], count, 2 * longest + 1))
        logs = ops.gather_elements(ops.log_softmax(logits, 2), 2, columns)
        given, other, blank = logs[:, :, :longest], logs[:, :, longest:-1], logs[:, :, -1:]
        both = ops.select(ops.broadcast_to(others == labels, given.shape), given, ops.logaddexp(given, other))

        # A character counts once, where it is first; equal characters share that class.
        same = ops.expand_dims(labels, 2) == ops.expand_dims(labels, 1)
        first = ops.cast(ops.argmax(ops.cast(same, logs.dtype), 2), labels.dtype)
        counts = ops.logical_and(first == place, inside > 0)
        characters = ops.select(ops.broadcast_to(counts, both.shape), both, ops.full_like(both, NEVER))

        rest = 1 - ops.expand_dims(ops.reduce_sum(ops.exp(characters), 2), 2) - ops.exp(blank)
        reduced = ops.concat((characters, ops.log(ops.maximum(rest, LEAST)), blank), 2)
        steps = ops.ones_like(lengths) * logits.shape[0]
        return ops.reduce_mean(ops.ctc_loss(reduced, first, steps, lengths, longest + 1, "none")[0])
