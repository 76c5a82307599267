"""The losses of lines of text: CTC (Graves et al. 2006), a decoder with attention, CTC with a decoder, a classifier."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from mindspore import Tensor, nn, ops

from hccl_kit.ocr.charset import BOS

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


SMOOTHING = 0.1
"""The share of each target of the decoder that is spread over the other tokens."""


class MultiLoss(nn.Cell):
    """CTC's loss plus the decoder's: the mean cross-entropy, with smoothing, of all tokens that are not `padding`.

    Inputs: logits of CTC (T, N, classes) and of the decoder (N, L - 1, tokens), float32; labels (N, ...) and their
    lengths (N,), int32, see `CTCLoss`; tokens (N, L) int32: start, the characters, end, padding.
    """

    def __init__(self, blank: int, padding: int) -> None:
        super().__init__()
        self.ctc = CTCLoss(blank)
        self.padding = padding

    def construct(self, prediction: tuple[Tensor, Tensor], labels: Tensor, lengths: Tensor, tokens: Tensor) -> Tensor:
        of_ctc, of_decoder = prediction
        wanted = tokens[:, 1:]
        counted = ops.cast(wanted != self.padding, of_decoder.dtype)
        logs = ops.log_softmax(of_decoder, 2)
        right = ops.squeeze(ops.gather_elements(logs, 2, ops.expand_dims(wanted, 2)), 2)
        other = (ops.reduce_sum(logs, 2) - right) / (of_decoder.shape[2] - 1)
        losses = -((1 - SMOOTHING) * right + SMOOTHING * other)
        return self.ctc(of_ctc, labels, lengths) + ops.reduce_sum(losses * counted) / ops.reduce_sum(counted)


class AttentionLoss(nn.Cell):
    """The mean cross-entropy over all tokens of the batch up to and including EOS; the padding does not count.

    Inputs: logits (N, L, classes) float32; targets (N, L + 1) int32: BOS, the characters, EOS, padded with BOS.
    """

    def construct(self, logits: Tensor, targets: Tensor) -> Tensor:
        tokens = targets[:, 1:]
        counted = ops.cast(tokens != BOS, logits.dtype)
        logs = ops.gather_elements(ops.log_softmax(logits, 2), 2, ops.expand_dims(tokens, 2))
        return -ops.reduce_sum(ops.squeeze(logs, 2) * counted) / ops.reduce_sum(counted)


TINY = 1e-12
"""Keeps the logarithm of a probability of zero finite."""


class CrossEntropySmooth(nn.Cell):
    """Cross-entropy with label smoothing: a share `smoothing` is spread over all classes (Szegedy et al. 2016).

    Inputs: probabilities (N, classes) float32; labels (N,) int32. MindOCR treats the probabilities as logits, which
    applies softmax twice; `of_probabilities` treats them as probabilities.
    """

    def __init__(self, *, smoothing: float = 0.0, of_probabilities: bool = False) -> None:
        super().__init__()
        self.smoothing = smoothing
        self.of_probabilities = of_probabilities

    def construct(self, probabilities: Tensor, labels: Tensor) -> Tensor:
        logs = ops.log(probabilities + TINY) if self.of_probabilities else ops.log_softmax(probabilities, 1)
        right = ops.squeeze(ops.gather_elements(logs, 1, ops.expand_dims(labels, 1)), 1)
        return -ops.reduce_mean((1 - self.smoothing) * right + self.smoothing * ops.reduce_mean(logs, 1))
