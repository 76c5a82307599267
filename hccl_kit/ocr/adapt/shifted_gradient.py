"""Gradients of MindSpore's convolutions in less memory, for CPUs without `hccl_kit.ocr.adapt.onednn_convolution`.

oneDNN computes a plain convolution (NCHW, float32, AVX2) as a product with the patches of its images. In the forward
pass it makes the patches of a few pixels at a time. In the backward pass it makes those of a whole image, nine times
the image for a 3x3 kernel, and MindSpore's oneDNN keeps this memory for each convolution until the process ends: more
than half of the memory that a step of DBNet takes (measured).

Here the patches are those of the gradient of the maps: the gradient, shifted by each position in the kernel. The
gradients of images and weights are two products with these patches, which need no further memory. The next convolution
reuses the memory of the patches.
"""

from __future__ import annotations

from mindspore import Tensor, nn, ops

Pair = tuple[int, int]
"""Rows and columns."""
VALUE = 4
"""Bytes of a float32."""
WORTH = 1 << 23
"""From this many bytes of patches of one image on, the gradient is shifted; below, little memory would be saved."""


def shift(network: nn.Cell, least: int = WORTH) -> int:
    """Replace the gradient computation of convolutions of `network`; returns the number of replaced convolutions.

    If the patches of an image take less than `least` bytes, its gradient is computed as before. Convolutions stay as
    they are if they are grouped, have a stride or more output than input channels, if their padding is unequal or
    larger than the kernel reaches, or if the kernel is 1x1 without padding. Parameters and outputs stay the same, and
    so do gradients up to rounding. For training in graph mode.
    """
    replaced = 0
    for _, cell in list(network.cells_and_names()):
        if type(cell) is not nn.Conv2d or _is_product(cell) or cell.group > 1 or tuple(cell.stride) != (1, 1):
            continue
        padding = _padding_of_gradient(cell)
        if padding is None or cell.out_channels > cell.in_channels:
            continue
        plain = cell.conv2d
        del cell.conv2d  # a primitive: assigning a cell under the same name does not replace it
        cell.conv2d = Shifted(cell, plain, padding, least)
        replaced += 1
    return replaced


class Shifted(nn.Cell):
    """Replaces the primitive of nn.Conv2d: images (N, C, H, W) and weights (O, C, h, w) to maps (N, O, H', W').

    `padding`: of the gradient of the maps, in rows and columns on each side. A gradient that is not used is not
    computed.
    """

    def __init__(self, convolution: nn.Conv2d, plain: ops.Primitive, padding: Pair, least: int) -> None:
        super().__init__()
        self.padding = padding
        self.dilation = tuple(convolution.dilation)
        self.least = least
        self.plain = plain
        height, width = convolution.kernel_size
        product = ops.Conv2D(height * width * convolution.out_channels, 1)
        self.gradients_of_plain = ops.GradOperation(get_all=True, sens_param=True)(_Plain(plain))
        self.gradients_of_product = ops.GradOperation(get_all=True, sens_param=True)(_Plain(product))

    def construct(self, images: Tensor, weights: Tensor) -> Tensor:
        return self.plain(images, weights)

    def bprop(self, images: Tensor, weights: Tensor, _: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor]:
        """The gradients of `images` and `weights`."""
        after, before, height, width = weights.shape
        patches = VALUE * before * height * width * images.shape[2] * images.shape[3]
        if patches < self.least:
            return self.gradients_of_plain(images, weights, gradient)
        matrix = ops.reshape(ops.transpose(weights, (2, 3, 0, 1)), (-1, before, 1, 1))
        of_images, of_matrix = self.gradients_of_product(images, matrix, self._patches(images, weights, gradient))
        of_weights = ops.transpose(ops.reshape(of_matrix, (height, width, after, before)), (2, 3, 0, 1))
        return of_images, of_weights

    def _patches(self, images: Tensor, weights: Tensor, gradient: Tensor) -> Tensor:
        """The gradient, shifted once for each position in the kernel: (N, h*w*O, H, W)."""
        count, after, high, wide = gradient.shape
        rows, columns = self.padding
        if columns:
            beside = ops.zeros((count, after, high, columns), gradient.dtype)
            gradient = ops.concat((beside, gradient, beside), 3)
        if rows:
            above = ops.zeros((count, after, rows, wide + 2 * columns), gradient.dtype)
            gradient = ops.concat((above, gradient, above), 2)
        size = (count, after, images.shape[2], images.shape[3])
        height, width = weights.shape[2:]
        shifted: tuple[Tensor, ...] = ()
        for row in range(height - 1, -1, -1):
            for column in range(width - 1, -1, -1):
                start = (0, 0, row * self.dilation[0], column * self.dilation[1])
                shifted = (*shifted, ops.slice(gradient, start, size))
        return ops.concat(shifted, 1)


class _Plain(nn.Cell):
    """The convolution of a primitive."""

    def __init__(self, convolution: ops.Primitive) -> None:
        super().__init__()
        self.convolution = convolution

    def construct(self, images: Tensor, weights: Tensor) -> Tensor:
        return self.convolution(images, weights)


def _padding_of_gradient(convolution: nn.Conv2d) -> Pair | None:
    """Rows above and below the maps' gradient and columns beside it; None if it would have to be cut instead."""
    padding = _padding_of(convolution)
    if padding is None:
        return None
    rows, columns = (
        dilation * (kernel - 1) - before
        for kernel, dilation, before in zip(convolution.kernel_size, convolution.dilation, padding, strict=True)
    )
    return (rows, columns) if min(rows, columns) >= 0 else None


def _is_product(convolution: nn.Conv2d) -> bool:
    """Whether oneDNN computes it as a matrix product in any case."""
    ones = (*convolution.kernel_size, *convolution.stride)
    return all(one == 1 for one in ones) and _padding_of(convolution) == (0, 0)


def _padding_of(convolution: nn.Conv2d) -> Pair | None:
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
