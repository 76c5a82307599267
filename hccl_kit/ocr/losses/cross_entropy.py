"""The loss of a classifier that gives probabilities."""

from __future__ import annotations

from mindspore import Tensor, nn, ops

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
