"""A network whose slow cells are replaced. Its parameters stay the same, and so do its results up to rounding."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from mindspore import Tensor, nn, ops

from hccl_kit.ocr.cpu import blocks, convolution
from hccl_kit.ocr.cpu.library import hold
from hccl_kit.ocr.models.ppocr import lcnet_v4

EPSILON = 1e-5


class Gelu(nn.Cell):
    """Replaces nn.GELU, exact or approximate, for values of any shape.

    MindSpore 2.10 computes the error function, and the hyperbolic tangent of the approximation, with the C library, one
    value at a time: ten to thirty times as long as a product of two maps (measured).
    """

    def __init__(self, gelu: nn.GELU, library: Path) -> None:
        super().__init__()
        name = "gelu_by_tanh" if gelu.approximate == "tanh" else "gelu_by_erf"
        self.forward = convolution.operator(library, name)
        self.backward = convolution.operator(library, f"of_{name}")

    def construct(self, values: Tensor) -> Tensor:
        return self.forward(values)

    def bprop(self, values: Tensor, _: Tensor, gradient: Tensor) -> tuple[Tensor]:
        """The gradient of `values`."""
        return (self.backward(values, gradient),)


class Scale(nn.Cell):
    """Maps (N, C, H, W) times weights (N, C, 1, 1), by a normalisation.

    MindSpore 2.10 computes a product that repeats one factor over pixels one index at a time, ten to twenty times as
    long as a product of equal shapes (measured), and keeps 16 bytes for each pixel until the process ends.
    """

    def __init__(self) -> None:
        super().__init__()
        self.normalise = ops.BatchNorm(is_training=False, epsilon=EPSILON)

    def construct(self, x: Tensor, weights: Tensor) -> Tensor:
        # A normalisation of mean 0 and variance 1 scales each channel, and all images are one of N C channels.
        count, channels, height, width = x.shape
        flat = ops.reshape(weights, (-1,))
        mean = ops.zeros_like(flat)
        maps = ops.reshape(x, (1, -1, height, width))
        scaled = self.normalise(maps, flat, mean, mean, ops.ones_like(flat) - EPSILON)[0]
        return ops.reshape(scaled, (count, channels, height, width))


def replace_gelu(network: nn.Cell, library: Path) -> None:
    """Let `library` compute each GELU of `network`."""
    _replace_children(network, nn.GELU, lambda gelu: Gelu(gelu, library))


def replace_scales(network: nn.Cell, _: Path) -> None:
    """Scale the channels of `network` by a normalisation."""
    _replace_children(network, lcnet_v4.Scale, lambda _: Scale())


def _replace_children(network: nn.Cell, kind: type[nn.Cell], make: Callable[[Any], nn.Cell]) -> None:
    """Replace each cell of exactly this kind in `network` by what `make` gives for it. They hold no parameters."""
    for _, parent in list(network.cells_and_names()):
        for place, (name, child) in enumerate(list(parent.name_cells().items())):
            if type(child) is not kind:
                continue
            if isinstance(parent, nn.SequentialCell | nn.CellList):
                parent[place] = make(child)
            else:
                setattr(parent, name, make(child))


PARTS: Mapping[str, Callable[[nn.Cell, Path], None]] = {
    "convolutions": convolution.replace,
    "maps in blocks": blocks.replace,
    "GELU": replace_gelu,
    "scales of channels": replace_scales,
}
"""What replaces cells, in this order: blocks are for convolutions that are replaced already."""


def adapt(network: nn.Cell, library: Path, *, frozen: bool) -> None:
    """Let `library` compute the slow parts of `network`, in training and evaluation in graph mode.

    `frozen`: its weights no longer change, so its normalisations are folded into its convolutions.
    """
    hold(library)
    if frozen:
        fold(network)
    for replace in PARTS.values():
        replace(network, library)


class Shift(nn.Cell):
    """Adds a constant to each channel of maps (N, C, H, W)."""

    def __init__(self, shift: Tensor) -> None:
        super().__init__()
        self.shift = shift

    def construct(self, x: Tensor) -> Tensor:
        return ops.bias_add(x, self.shift)


def fold(network: nn.Cell) -> None:
    """Fold each normalisation that follows a convolution in a sequence: it takes five times as long as adding a bias.

    Afterwards the network is for evaluation only: its parameters no longer match its checkpoint. Call it before the
    network is compiled.
    """
    for _, sequence in list(network.cells_and_names()):
        if not isinstance(sequence, nn.SequentialCell):
            continue
        for number, (before, norm) in enumerate(pairwise(list(sequence)), 1):
            if type(before) is nn.Conv2d and type(norm) is nn.BatchNorm2d:
                sequence[number] = Shift(_folded(before, norm))


def _folded(convolution: nn.Conv2d, norm: nn.BatchNorm2d) -> Tensor:
    """Scale the weights, and the bias if there is one; returns the remaining shift of each channel (O,)."""
    gamma, beta, mean, variance = (
        row.asnumpy().astype(np.float64) for row in (norm.gamma, norm.beta, norm.moving_mean, norm.moving_variance)
    )
    scale = gamma / np.sqrt(variance + norm.eps)
    for parameter in (convolution.weight, convolution.bias) if convolution.has_bias else (convolution.weight,):
        values = parameter.asnumpy()
        scaled = values * scale.reshape(-1, *[1] * (values.ndim - 1))
        parameter.set_data(Tensor(scaled.astype(values.dtype)))
    return Tensor((beta - mean * scale).astype(np.float32))
