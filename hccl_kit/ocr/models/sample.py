"""Bilinear sampling of images: in training by operators of the device, else by operators that ONNX has.

MindSpore does not export GridSampler2D to ONNX. In evaluation it is made of gathers, and the values agree within a
millionth.
"""

from __future__ import annotations

import mindspore as ms
from mindspore import Tensor, nn, ops


class Sample(nn.Cell):
    """Images (N, C, H, W) and places (N, h, w, 2) to the values there (N, C, h, w); black outside the image.

    A place is (x, y) from -1 to 1, the outer edges of the image: half a pixel beyond the outermost pixel centres.
    """

    def construct(self, images: Tensor, places: Tensor) -> Tensor:
        if self.training:
            return ops.grid_sample(images, places, mode="bilinear", padding_mode="zeros", align_corners=False)
        height, width = images.shape[2:]
        return between(images, ((places[..., 0] + 1) * width - 1) / 2, ((places[..., 1] + 1) * height - 1) / 2)


def between(images: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Images (N, C, H, W) sampled at x and y (N or 1, h, w), in pixels from the first one: (N, C, h, w).

    x is from -1 to W, y from -1 to H; the image is padded with one black pixel.
    """
    count, channels, height, width = images.shape
    size = x.shape[1:]
    side = ops.zeros((count, channels, height, 1), images.dtype)
    edge = ops.zeros((count, channels, 1, width + 2), images.dtype)
    pixels = ops.concat((edge, ops.concat((side, images, side), 3), edge), 2)
    pixels = ops.reshape(pixels, (count, channels, (height + 2) * (width + 2)))
    left, top = ops.floor(x), ops.floor(y)
    right, down = ops.expand_dims(x - left, 1), ops.expand_dims(y - top, 1)
    first = ops.reshape((top + 1) * (width + 2) + left + 1, (-1, 1, size[0] * size[1]))
    index = ops.broadcast_to(ops.cast(first, ms.int32), (count, channels, size[0] * size[1]))
    corners = [
        ops.reshape(ops.gather_elements(pixels, 2, index + shift), (count, channels, *size))
        for shift in (0, 1, width + 2, width + 3)
    ]
    upper = corners[0] + right * (corners[1] - corners[0])
    lower = corners[2] + right * (corners[3] - corners[2])
    return upper + down * (lower - upper)
