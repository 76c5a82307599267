"""Convolutions by oneDNN in its own memory layouts.

MindSpore 2.10 gives oneDNN images and weights in plain order (NCHW). For that order oneDNN multiplies matrices of
patches under AVX2, and has no fast code at all under AVX-512 or for depthwise convolutions.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from mindspore import Tensor, nn, ops

Shape = tuple[int, ...]
SAME = -1
"""Stands for the padding that keeps height and width, which depends on the size of the images."""


def replace(network: nn.Cell, library: Path) -> None:
    """Let `library` compute the convolutions of `network`, except transposed ones with padding."""
    for _, cell in list(network.cells_and_names()):
        for name, primitive in list(vars(cell).items()):
            if type(primitive) is ops.Conv2D:
                replacement: nn.Cell = Convolution(primitive, library)
            elif type(primitive) is ops.Conv2DTranspose and primitive.pad_mode.lower() == "valid":
                replacement = Transposed(primitive, library)
            else:
                continue
            delattr(cell, name)  # a primitive: assigning a cell under the same name does not replace it
            setattr(cell, name, replacement)


class _Operators(nn.Cell):
    """The operators of a convolution: forward, transposed, and the gradients of images and weights.

    The geometry is a tensor that holds it twice. The kernel reads its values. Shape inference, which may run before
    there are values, reads its shape.
    """

    def __init__(self, primitive: Any, library: Path) -> None:
        super().__init__()
        stride, dilation = primitive.stride[-2:], primitive.dilation[-2:]
        top, bottom, left, right = primitive.pad
        mode = primitive.pad_mode.lower()
        before = {"valid": (0, 0), "same": (SAME, SAME), "pad": (top, left)}[mode]
        around = {"valid": (0, 0), "same": (SAME, SAME), "pad": (top + bottom, left + right)}[mode]
        numbers = (*stride, *dilation, *before, primitive.group, False, False)
        sizes = (*stride, *dilation, *(count + 2 for count in around), primitive.group)
        geometry = np.zeros((*sizes, len(numbers)), np.int32)
        geometry.reshape(-1, len(numbers))[0] = numbers
        self.geometry = Tensor(geometry)
        self.forward = operator(library, "forward")
        self.transposed = operator(library, "transposed")
        self.of_images = operator(library, "of_images")
        self.of_weights = operator(library, "of_weights")


class Convolution(_Operators):
    """Replaces ops.Conv2D: images (N, C, H, W) and weights (O, C, h, w) to maps (N, O, H', W').

    A gradient that is not used is not computed.
    """

    def images_in_blocks(self) -> None:
        """Take images, and give their gradient, in blocks of channels: see `blocks`."""
        self._set(-2)

    def maps_in_blocks(self) -> None:
        """Give maps, and take their gradient, in blocks of channels."""
        self._set(-1)

    def _set(self, number: int) -> None:
        geometry = self.geometry.asnumpy().copy()
        geometry.reshape(-1, geometry.shape[-1])[0, number] = True
        self.geometry = Tensor(geometry)

    def construct(self, images: Tensor, weights: Tensor) -> Tensor:
        return self.forward(images, weights, self.geometry)

    def bprop(self, images: Tensor, weights: Tensor, _: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor]:
        """The gradients of `images` and `weights`."""
        return (
            self.of_images(gradient, weights, self.geometry, images),
            self.of_weights(images, gradient, self.geometry, weights),
        )


class Transposed(_Operators):
    """Replaces ops.Conv2DTranspose: maps (N, C, H, W) and weights (C, O, h, w) to images (N, O, H', W')."""

    def construct(self, maps: Tensor, weights: Tensor, _: Shape) -> Tensor:
        return self.transposed(maps, weights, self.geometry)

    def bprop(
        self, maps: Tensor, weights: Tensor, shape: Shape, _: Tensor, gradient: Tensor
    ) -> tuple[Tensor, Tensor, Shape]:
        """The gradients of `maps` and `weights`, and an unused one of the shape."""
        return (
            self.forward(gradient, weights, self.geometry),
            self.of_weights(gradient, maps, self.geometry, weights),
            shape,
        )


def operator(
    library: Path, name: str, shapes: Callable[..., tuple[Shape, ...]] | None = None, *, outputs: int = 1
) -> ops.Custom:
    """The custom operator `name` of the library; its outputs have the type of its first input.

    The library infers the shape of a single output. `shapes` computes the shapes of several outputs from those of the
    inputs.
    """
    if shapes:
        return ops.Custom(f"{library}:{name}", shapes, lambda *types: types[:1] * outputs, "aot")
    operator = ops.Custom(f"{library}:{name}", None, lambda *types: types[0], "aot")
    operator.add_prim_attr("reg_op_name", name)  # without it MindSpore 2.10 does not call the shape inference
    return operator
