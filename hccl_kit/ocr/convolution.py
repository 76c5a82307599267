"""Convolutions as products of matrices, for CPUs with AVX-512: `hccl_kit.ocr.instruction_set` says why."""

from __future__ import annotations

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

    Only the patches of the images, or their gradients, are there at a time: for the gradient of the weights oneDNN has
    good code, which needs the images alone. What of the two gradients is not used is not computed.
    """

    def __init__(self, convolution: nn.Conv2d, plain: ops.Primitive, padding: Pair) -> None:
        super().__init__()
        self.product = _Product(convolution, padding)
        differentiate = ops.GradOperation(get_all=True, sens_param=True)
        self.gradients_of_plain = differentiate(_Plain(plain))
        self.gradients_of_product = differentiate(self.product)

    def construct(self, images: Tensor, weights: Tensor) -> Tensor:
        return self.product(images, weights)

    def bprop(self, images: Tensor, weights: Tensor, _: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor]:
        """The gradients of `images` and `weights`."""
        of_images = self.gradients_of_product(images, weights, gradient)[0]
        return of_images, self.gradients_of_plain(images, weights, gradient)[1]


class _Plain(nn.Cell):
    """The convolution as it was."""

    def __init__(self, convolution: ops.Primitive) -> None:
        super().__init__()
        self.convolution = convolution

    def construct(self, images: Tensor, weights: Tensor) -> Tensor:
        return self.convolution(images, weights)


class _Product(nn.Cell):
    """The weights times the patches that they see: a convolution of 1x1, of which oneDNN makes a product."""

    def __init__(self, convolution: nn.Conv2d, padding: Pair) -> None:
        super().__init__()
        self.kernel, self.stride, self.dilation = convolution.kernel_size, convolution.stride, convolution.dilation
        self.padding = padding
        self.multiply = ops.Conv2D(convolution.out_channels, 1)

    def construct(self, images: Tensor, weights: Tensor) -> Tensor:
        count, _, height, width = images.shape
        patches = ops.unfold(images, self.kernel, self.dilation, self.padding, self.stride)
        rows = _size(height, self.kernel[0], self.dilation[0], self.padding[0], self.stride[0])
        columns = _size(width, self.kernel[1], self.dilation[1], self.padding[1], self.stride[1])
        maps = ops.reshape(patches, (count, -1, rows, columns))
        return self.multiply(maps, ops.reshape(weights, (weights.shape[0], -1, 1, 1)))


def _size(size: int, kernel: int, dilation: int, padding: int, stride: int) -> int:
    """How many places of a kernel fit into `size` pixels."""
    return (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


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
