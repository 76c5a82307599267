"""Forms of operators that are faster on CPU, where MindSpore's are slow; results agree up to rounding.

MindSpore 2.10 computes the error function one value at a time by the C library, and a product that repeats one factor
over pixels one index at a time: each takes ten to twenty times as long as tanh or a product of equal shapes (measured).
For such a product it also keeps the indices of all pixels until the process ends, 16 bytes for each.
"""

from __future__ import annotations

import mindspore as ms
from mindspore import Tensor, nn, ops

ODD = (
    1.5957685368132382,
    0.07266829823837638,
    -6.605340392148162e-05,
    -1.1054677303557529e-4,
    7.948141442723508e-06,
    -2.675663919981393e-07,
    3.627854376550344e-09,
)
"""Coefficients of x, x^3 and so on to x^13: their sum is close to the logit of the normal distribution function of x.

Fitted so that the largest error of GELU is least: 6.6e-8. The sum grows with x everywhere.
"""
EPSILON = 1e-5


class Gelu(nn.Cell):
    """x times the normal distribution function of x (Hendrycks and Gimpel 2016), not the approximation by tanh.

    On CPU in evaluation a polynomial takes its place, which differs by rounding only. `hccl_kit.ocr.adapt.onednn_gelu`
    replaces `exact`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.exact = nn.GELU(approximate=False)
        self.by_polynomial = ms.get_context("device_target") == "CPU"

    def construct(self, x: Tensor) -> Tensor:
        if self.training or not self.by_polynomial:
            return self.exact(x)
        square = x * x
        inner = ODD[-1] * square
        for coefficient in ODD[-2:0:-1]:
            inner = (inner + coefficient) * square
        return x * ops.sigmoid((inner + ODD[0]) * x)


class Scale(nn.Cell):
    """Maps (N, C, H, W) times weights (N, C, 1, 1)."""

    def __init__(self) -> None:
        super().__init__()
        self.on_cpu = ms.get_context("device_target") == "CPU"
        self.normalise = ops.BatchNorm(is_training=False, epsilon=EPSILON)

    def construct(self, x: Tensor, weights: Tensor) -> Tensor:
        if not self.on_cpu:
            return x * weights
        # A normalisation of mean 0 and variance 1 scales each channel, and all images are one of N C channels.
        count, channels, height, width = x.shape
        flat = ops.reshape(weights, (-1,))
        mean = ops.zeros_like(flat)
        maps = ops.reshape(x, (1, -1, height, width))
        scaled = self.normalise(maps, flat, mean, mean, ops.ones_like(flat) - EPSILON)[0]
        return ops.reshape(scaled, (count, channels, height, width))


def mean_of_pixels(x: Tensor) -> Tensor:
    """The means (N, C, 1, 1) of maps (N, C, H, W).

    They are computed over the rows of a matrix: with more axes the mean takes ten times as long (measured).
    """
    count, channels, height, width = x.shape
    means = ops.mean(ops.reshape(x, (count * channels, height * width)), 1)
    return ops.reshape(means, (count, channels, 1, 1))
