"""From the layers that PP-OCRv6 is trained with to those that are published: each group becomes one convolution.

After Ding et al. 2021, "RepVGG: Making VGG-style ConvNets Great Again", and for dilated kernels Ding et al. 2024,
"UniRepLKNet: A Universal Perception Large-Kernel ConvNet for Audio, Video, Point Cloud, Time-Series and Image
Recognition". In evaluation a batch normalisation is linear, and a sum of convolutions of one map is one convolution.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
EPSILON = 1e-5
"""Epsilon of all batch normalisations."""
DILATED: Mapping[int, tuple[tuple[int, int], ...]] = {
    5: ((3, 1), (3, 2)),
    7: ((5, 1), (3, 2), (3, 3)),
    9: ((5, 1), (5, 2), (3, 3), (3, 4)),
    11: ((5, 1), (5, 2), (3, 3), (3, 4), (3, 5)),
    13: ((5, 1), (7, 2), (3, 3), (3, 4), (3, 5)),
}
"""By the side of a large kernel: side and dilation of the smaller kernels that are trained in parallel."""

MOST_NUMBERS = 1 << 22
"""About three times those of the largest dense kernel, 64 x 256 x 9 x 9."""
PRODUCT = 1e-3
"""Largest second singular value, as a share of the first, that counts as rounding in half precision."""


class Convolution(NamedTuple):
    """Weights (O, I, h, w), for a transposed one (I, O, h, w), and a bias (O,)."""

    weight: Array
    bias: Array


class Norm(NamedTuple):
    """A batch normalisation: four vectors (O,)."""

    gamma: Array
    beta: Array
    mean: Array
    variance: Array


def normalised(weight: Array, norm: Norm, *, bias: Array | None = None, transposed: bool = False) -> Convolution:
    """A convolution and the normalisation of its output as one convolution."""
    scale = norm.gamma / np.sqrt(norm.variance + EPSILON)
    channels = (1, -1, 1, 1) if transposed else (-1, 1, 1, 1)
    offset = norm.mean if bias is None else norm.mean - bias
    return Convolution(weight * scale.reshape(channels), norm.beta - scale * offset)


def spread(weight: Array, *, dilation: int, size: int) -> Array:
    """Weights (O, I, k, k) that read every `dilation`-th pixel as weights (O, I, size, size) that read each.

    k and `size` are odd, and `size` is at least the reach of the weights, dilation (k - 1) + 1.
    """
    reach = dilation * (weight.shape[-1] - 1) + 1
    first = (size - reach) // 2
    places = slice(first, first + reach, dilation)
    wide = np.zeros((*weight.shape[:2], size, size), np.float32)
    wide[:, :, places, places] = weight
    return wide


def depthwise(three: Array, norm: Norm, one: Array, joined: Norm) -> Convolution:
    """joined(norm(three(x)) + one(x) + x) for depthwise weights (C, 1, 3, 3) and (C, 1, 1, 1)."""
    first = normalised(three, norm)
    return normalised(first.weight + spread(one + 1, dilation=1, size=three.shape[-1]), joined, bias=first.bias)


def large_kernel(branches: Iterable[tuple[Array, Norm, int]], *, size: int) -> Convolution:
    """The sum of normalised depthwise convolutions, each with its dilation, as one of `size` x `size`."""
    weights, biases = [], []
    for weight, norm, dilation in branches:
        part = normalised(weight, norm)
        weights.append(spread(part.weight, dilation=dilation, size=size))
        biases.append(part.bias)
    return Convolution(np.sum(weights, axis=0), np.sum(biases, axis=0))


def separated(dense: Array) -> tuple[Array, Array] | None:
    """Kernels (O, I, k, k) as depthwise (I, 1, k, k) and pointwise (O, I, 1, 1) ones, whose product they are.

    None if they are not such a product, or of another shape, or larger than in any of these networks.
    """
    if dense.ndim != 4 or dense.size > MOST_NUMBERS:
        return None
    outputs, inputs, rows, columns = dense.shape
    per_input = dense.astype(np.float64).transpose(1, 0, 2, 3).reshape(inputs, outputs, rows * columns)
    if not per_input.size or not np.isfinite(per_input).all():
        return None
    left, strengths, right = np.linalg.svd(per_input, full_matrices=False)
    if (strengths[:, 1:] > PRODUCT * strengths[:, :1]).any():
        return None
    root = np.sqrt(strengths[:, 0])
    pointwise = (left[:, :, 0] * root[:, None]).T.reshape(outputs, inputs, 1, 1)
    wide = (right[:, 0] * root[:, None]).reshape(inputs, 1, rows, columns)
    return wide.astype(np.float32), pointwise.astype(np.float32)
