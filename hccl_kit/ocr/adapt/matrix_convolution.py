"""Convolutions as products of matrices, for CPUs with AVX-512: `hccl_kit.ocr.adapt.instruction_set` says why.

A product needs the patches of the images that the weights see, side by side. MindSpore can cut them out and add them up
again one number at a time. Where the images of a batch are interleaved, so that a pixel is a run of as many numbers,
whole runs can be copied: that is four times as fast (measured), but the images have to be interleaved first, and the
maps taken apart.
"""

from __future__ import annotations

import numpy as np
from mindspore import Tensor, nn, ops

Pair = tuple[int, int]
"""Of rows and of columns."""


def unfold(network: nn.Cell) -> int:
    """Let the convolutions of `network` be computed as products; how many stay as they are.

    These are the grouped ones and those that pad unequally. Parameters and results are the same, the latter up to
    rounding. For training and evaluation in graph mode: what is exported should be written with plain convolutions.
    """
    left = 0
    for _, cell in list(network.cells_and_names()):
        if type(cell) is not nn.Conv2d or _is_product(cell):
            continue
        padding = _padding(cell)
        if cell.group > 1 or padding is None:
            left += 1
            continue
        plain = cell.conv2d
        del cell.conv2d  # a primitive; a cell of the same name does not take its place by itself
        cell.conv2d = Unfolded(cell, plain, padding)
    return left


class Unfolded(nn.Cell):
    """What nn.Conv2d calls: images (N, C, H, W) and weights (O, C, h, w) to maps (N, O, H', W').

    Only the patches of the images, or of the gradients, are there at a time: for the gradient of the weights oneDNN has
    good code, which needs the images alone. What of the two gradients is not used is not computed.
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
        """Rows as channels where the weights see all rows at once: no patch needs to be higher than one."""
        if weights.shape[2] == 1 or weights.shape[2] != images.shape[2] or self.padded_rows:
            return images, weights
        flat_images = ops.reshape(images, (images.shape[0], -1, 1, images.shape[3]))
        return flat_images, ops.reshape(weights, (weights.shape[0], -1, 1, weights.shape[3]))


class _Plain(nn.Cell):
    """The convolution as it was."""

    def __init__(self, convolution: ops.Primitive) -> None:
        super().__init__()
        self.convolution = convolution

    def construct(self, images: Tensor, weights: Tensor) -> Tensor:
        return self.convolution(images, weights)


class _Gradient(nn.Cell):
    """The gradient of the images (`which` 0) or of the weights (1) by differentiation of `cell`."""

    def __init__(self, cell: nn.Cell, which: int) -> None:
        super().__init__()
        self.differentiate = ops.GradOperation(get_all=True, sens_param=True)(cell)
        self.which = which

    def construct(self, images: Tensor, weights: Tensor, gradient: Tensor) -> Tensor:
        return self.differentiate(images, weights, gradient)[self.which]


class _OfPatches(nn.Cell):
    """The weights times the patches that they see: a convolution of 1x1, of which oneDNN makes a product."""

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
    """The same for a stride of one, of interleaved images."""

    def __init__(self, dilation: Pair, padding: Pair) -> None:
        super().__init__()
        self.dilation, self.padding = dilation, padding

    def construct(self, images: Tensor, weights: Tensor) -> Tensor:
        pixels, kernel = images.shape[2:], weights.shape[2:]
        sizes = _sizes(pixels, kernel, (1, 1), self.dilation, self.padding)
        seen = places(pixels, sizes, kernel, self.dilation, self.padding)
        return _product(images, ops.reshape(weights, (weights.shape[0], -1, 1, 1)), seen, sizes)


class _GradientOfInterleaved(nn.Cell):
    """The gradient of its images: what a pixel has given to the maps comes back from there, so all steps are turned."""

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

    To interleave is to transpose a matrix of N rows, which is done twice as fast by a product with the identity, and
    MindSpore keeps what it transposes until the end of the step (measured).
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
    """Which pixel, counted row by row, each number of the kernel sees at each place of maps of `sizes`: (P H' W').

    One past the last pixel where it sees padding.
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
    """How many places the kernel has in so many pixels."""
    return (
        (pixels[0] + 2 * padding[0] - dilation[0] * (kernel[0] - 1) - 1) // stride[0] + 1,
        (pixels[1] + 2 * padding[1] - dilation[1] * (kernel[1] - 1) - 1) // stride[1] + 1,
    )


def _gains_by_interleaving(convolution: nn.Conv2d) -> bool:
    """Whether the patches are large beside the maps, which have to be taken apart (measured)."""
    return tuple(convolution.stride) == (1, 1) and convolution.out_channels <= 2 * convolution.in_channels


def _is_product(convolution: nn.Conv2d) -> bool:
    """Whether oneDNN makes a product of it anyway."""
    ones = (*convolution.kernel_size, *convolution.stride)
    return all(one == 1 for one in ones) and _padding(convolution) == (0, 0)


def _padding(convolution: nn.Conv2d) -> Pair | None:
    """Rows above and below, columns left and right; None where these are not equal for images of all sizes."""
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
