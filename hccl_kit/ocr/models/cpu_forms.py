"""Forms of operators that are faster on CPU in evaluation, where MindSpore's are slow; results agree up to rounding.

MindSpore 2.10 computes the error function one value at a time by the C library, and a product that repeats one factor
over pixels one index at a time: each takes ten to twenty times as long as tanh or a product of equal shapes (measured).
"""

from __future__ import annotations

import mindspore as ms
from mindspore import Tensor, nn, ops

ODD = (1.5956562719819423, 0.07293758195488396, -2.497232896286197e-4, -6.116200951339895e-05, 2.238164213688849e-06)
"""Coefficients of x, x^3, x^5, x^7, x^9: their sum is close to the logit of the normal distribution function of x.

Fitted so that the largest error of GELU is least: 3.0e-6. The sum grows with x everywhere.
"""
EPSILON = 1e-5


class Gelu(nn.Cell):
    """x times the normal distribution function of x (Hendrycks and Gimpel 2016), not the approximation by tanh.

    On CPU in evaluation it differs from that by at most 4e-6.
    """

    def __init__(self) -> None:
        super().__init__()
        self.on_cpu = ms.get_context("device_target") == "CPU"

    def construct(self, x: Tensor) -> Tensor:
        if self.training or not self.on_cpu:
            return ops.gelu(x, approximate="none")
        one, three, five, seven, nine = ODD
        square = x * x
        inner = (((nine * square + seven) * square + five) * square + three) * square + one
        return x * ops.sigmoid(inner * x)


class Scale(nn.Cell):
    """Maps (N, C, H, W) times weights (N, C, 1, 1)."""

    def __init__(self) -> None:
        super().__init__()
        self.on_cpu = ms.get_context("device_target") == "CPU"
        self.normalise = ops.BatchNorm(is_training=False, epsilon=EPSILON)

    def construct(self, x: Tensor, weights: Tensor) -> Tensor:
        if self.training or not self.on_cpu:
            return x * weights
        # A normalisation of mean 0 and variance 1 scales each channel, and all images are one of N C channels.
        count, channels, height, width = x.shape
        flat = ops.reshape(weights, (-1,))
        mean = ops.zeros_like(flat)
        maps = ops.reshape(x, (1, -1, height, width))
        scaled = self.normalise(maps, flat, mean, mean, ops.ones_like(flat) - EPSILON)[0]
        return ops.reshape(scaled, (count, channels, height, width))


def mean_of_pixels(x: Tensor) -> Tensor:
    """The means (N, C, 1, 1) of maps (N, C, H, W): over one axis, which takes a third of the time of two (measured)."""
    count, channels, height, width = x.shape
    means = ops.mean(ops.reshape(x, (count, channels, height * width)), 2)
    return ops.reshape(means, (count, channels, 1, 1))
