"""Convolutions as matrix products (im2col), for CPUs with AVX-512; see `hccl_kit.ocr.adapt.instruction_set`.

The product needs the patches of the images side by side. MindSpore's unfold copies and sums them one value at a time.
If the images of a batch are interleaved, so that a pixel is a run of N values, whole runs can be copied: that is four
times as fast (measured), but the images must be interleaved first and the maps separated afterwards.
"""

from __future__ import annotations

import numpy as np
from mindspore import Tensor, nn, ops

Pair = tuple[int, int]
"""Rows and columns."""


def unfold(network: nn.Cell) -> int:
    """Replace the convolutions of `network` by matrix products; returns how many stay as they are.

    Grouped convolutions and those with unequal padding stay. Parameters are the same, results too up to rounding. For
    training and evaluation in graph mode: a network for export should keep its plain convolutions.
    """
    left = 0
    for _, cell in list(network.cells_and_names()):
        if type(cell) is not nn.Conv2d or is_product(cell):
            continue
        padding = padding_of(cell)
        if cell.group > 1 or padding is None:
            left += 1
            continue
        plain = cell.conv2d
        del cell.conv2d  # a primitive, which a cell of the same name does not replace
        cell.conv2d = Unfolded(cell, plain, padding)
    return left


class Unfolded(nn.Cell):
    """Replaces the primitive of nn.Conv2d: images (N, C, H, W) and weights (O, C, h, w) to maps (N, O, H', W').

    The patches of the images and those of the gradients are never in memory together: the gradient of the weights uses
    oneDNN's own code, which is fast and needs the images alone. A gradient that is not used is not computed.
    """

    def __init__(self, convolution: nn.Conv2d, plain: ops.Primitive, padding: Pair) -> None:
        super().__init__()
        interleaves = _gains_by_interleaving(convolution)
        geometry = (convolution.stride, convolution.dilation, padding)
        self.product = _OfInterleaved(*geometry[1:]) if interleaves else _OfPatches(*geometry)
        self.gradient = _GradientOfInterleaved(*geometry[1:]) if interleaves else _Gradient(_OfPatches(*geometry), 0)
        self.gradient_of_weights = _Gradient(_Plain(plain), 1)
        self.padded_rows = padding[0]

    def construct(self, images: Tensor, weights: Tensor) -> Tensor:
        return self.product(*self._flat(images, weights))

    def bprop(self, images: Tensor, weights: Tensor, _: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor]:
        """The gradients of `images` and `weights`."""
        of_images = ops.reshape(self.gradient(*self._flat(images, weights), gradient), images.shape)
        return of_images, self.gradient_of_weights(images, weights, gradient)

    def _flat(self, images: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
        """Rows become channels if the kernel covers all rows: then every patch is one row high."""
        if weights.shape[2] == 1 or weights.shape[2] != images.shape[2] or self.padded_rows:
            return images, weights
        flat_images = ops.reshape(images, (images.shape[0], -1, 1, images.shape[3]))
        return flat_images, ops.reshape(weights, (weights.shape[0], -1, 1, weights.shape[3]))


class _Plain(nn.Cell):
    """The original convolution."""

    def __init__(self, convolution: ops.Primitive) -> None:
        super().__init__()
        self.convolution = convolution

    def construct(self, images: Tensor, weights: Tensor) -> Tensor:
        return self.convolution(images, weights)


class _Gradient(nn.Cell):
    """The gradient with respect to the images (`which` 0) or the weights (1) of `cell`."""

    def __init__(self, cell: nn.Cell, which: int) -> None:
        super().__init__()
        self.differentiate = ops.GradOperation(get_all=True, sens_param=True)(cell)
        self.which = which

    def construct(self, images: Tensor, weights: Tensor, gradient: Tensor) -> Tensor:
        return self.differentiate(images, weights, gradient)[self.which]


class _OfPatches(nn.Cell):
    """Weights times patches, as a 1x1 convolution, which oneDNN computes as a matrix product."""

    def __init__(self, stride: Pair, dilation: Pair, padding: Pair) -> None:
        super().__init__()
        self.stride, self.dilation, self.padding = stride, dilation, padding

    def construct(self, images: Tensor, weights: Tensor) -> Tensor:
        count, _, *pixels = images.shape
        kernel = weights.shape[2:]
        rows, columns = _sizes(pixels, kernel, self.stride, self.dilation, self.padding)
        patches = ops.unfold(images, kernel, self.dilation, self.padding, self.stride)
        maps = ops.reshape(patches, (count, -1, rows, columns))
        return ops.Conv2D(weights.shape[0], 1)(maps, ops.reshape(weights, (weights.shape[0], -1, 1, 1)))


class _OfInterleaved(nn.Cell):
    """The same for interleaved images and a stride of one."""

    def __init__(self, dilation: Pair, padding: Pair) -> None:
        super().__init__()
        self.dilation, self.padding = dilation, padding

    def construct(self, images: Tensor, weights: Tensor) -> Tensor:
        pixels, kernel = images.shape[2:], weights.shape[2:]
        sizes = _sizes(pixels, kernel, (1, 1), self.dilation, self.padding)
        seen = places(pixels, sizes, kernel, self.dilation, self.padding)
        return _product(images, ops.reshape(weights, (weights.shape[0], -1, 1, 1)), seen, sizes)


class _GradientOfInterleaved(nn.Cell):
    """The gradient of its images: each pixel collects from the maps it contributed to, so all offsets are negated."""

    def __init__(self, dilation: Pair, padding: Pair) -> None:
        super().__init__()
        self.dilation, self.padding = (-dilation[0], -dilation[1]), (-padding[0], -padding[1])

    def construct(self, images: Tensor, weights: Tensor, gradient: Tensor) -> Tensor:
        after, before, *kernel = weights.shape
        columns = ops.transpose(ops.reshape(weights, (after, before, -1)), (1, 0, 2))
        seen = places(gradient.shape[2:], images.shape[2:], kernel, self.dilation, self.padding)
        return _product(gradient, ops.reshape(columns, (before, -1, 1, 1)), seen, images.shape[2:])


def _product(images: Tensor, matrix: Tensor, seen: Tensor, sizes: Pair) -> Tensor:
    """`matrix` (O, C P, 1, 1) times the patches of P pixels of `images` (N, C, H, W): maps (N, O, *sizes).

    Interleaving transposes a matrix of N rows. A product with the identity does that twice as fast, and MindSpore keeps
    a transposed copy until the end of the step (measured).
    """
    count, channels, height, width = images.shape
    identity = _identity(count)
    interleaved = ops.MatMul(transpose_a=True)(ops.reshape(images, (count, -1)), identity)
    runs = ops.reshape(interleaved, (channels, height * width, count))
    padded = ops.concat((runs, ops.zeros((channels, 1, count), images.dtype)), 1)
    patches = ops.reshape(ops.gather(padded, seen, 1), (1, -1, sizes[0], sizes[1] * count))
    maps = ops.Conv2D(matrix.shape[0], 1)(patches, matrix)
    apart = ops.MatMul(transpose_b=True)(identity, ops.reshape(maps, (-1, count)))
    return ops.reshape(apart, (count, -1, sizes[0], sizes[1]))


@ops.constexpr
def _identity(count: int) -> Tensor:
    return Tensor(np.eye(count, dtype=np.float32))


@ops.constexpr
def places(pixels: Pair, sizes: Pair, kernel: Pair, dilation: Pair, padding: Pair) -> Tensor:
    """The pixel index, row by row, that each kernel element reads for each place of maps of `sizes`: (P H' W').

    The index past the last pixel stands for padding.
    """
    rows, columns = (
        np.arange(count)[:, None] * step + np.arange(size) - before
        for count, step, size, before in zip(kernel, dilation, sizes, padding, strict=True)
    )
    row, column = rows[:, None, :, None], columns[None, :, None, :]
    inside = (row >= 0) & (row < pixels[0]) & (column >= 0) & (column < pixels[1])
    seen = np.where(inside, row * pixels[1] + column, pixels[0] * pixels[1])
    return Tensor(seen.reshape(-1).astype(np.int32))


def _sizes(pixels: Pair, kernel: Pair, stride: Pair, dilation: Pair, padding: Pair) -> Pair:
    """Height and width of the output maps."""
    return (
        (pixels[0] + 2 * padding[0] - dilation[0] * (kernel[0] - 1) - 1) // stride[0] + 1,
        (pixels[1] + 2 * padding[1] - dilation[1] * (kernel[1] - 1) - 1) // stride[1] + 1,
    )


def _gains_by_interleaving(convolution: nn.Conv2d) -> bool:
    """Whether the patches are large compared to the maps, which must be separated again (measured)."""
    return tuple(convolution.stride) == (1, 1) and convolution.out_channels <= 2 * convolution.in_channels


def is_product(convolution: nn.Conv2d) -> bool:
    """Whether oneDNN computes it as a matrix product in any case."""
    ones = (*convolution.kernel_size, *convolution.stride)
    return all(one == 1 for one in ones) and padding_of(convolution) == (0, 0)


def padding_of(convolution: nn.Conv2d) -> Pair | None:
    """Rows above and below, columns left and right; None if the two sides are not equal for images of all sizes."""
    if convolution.pad_mode == "valid":
        return 0, 0
    if convolution.pad_mode == "pad":
        given = convolution.padding
        top, bottom, left, right = (given,) * 4 if isinstance(given, int) else given
        return (top, left) if (top, left) == (bottom, right) else None
    rows, columns = (
        dilation * (kernel - 1) for kernel, dilation in zip(convolution.kernel_size, convolution.dilation, strict=True)
    )
    equal = rows % 2 == columns % 2 == 0 and tuple(convolution.stride) == (1, 1)
    return (rows // 2, columns // 2) if equal else None
