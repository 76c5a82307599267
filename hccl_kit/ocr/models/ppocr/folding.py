"""From the layers that PP-OCRv6 is trained with to those that are published: each group becomes one convolution.

After Ding et al. 2021, "RepVGG: Making VGG-style ConvNets Great Again", and for kernels with gaps Ding et al. 2024,
"UniRepLKNet: A Universal Perception Large-Kernel ConvNet for Audio, Video, Point Cloud, Time-Series and Image
Recognition". In evaluation a batch normalisation is linear, and a sum of convolutions of one map is one convolution.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
EPSILON = 1e-5
"""Of all batch normalisations."""


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
    """A convolution and the normalisation of its maps."""
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
