"""Bilinear sampling of images: in training by operators of the device, else by operators that ONNX has.

MindSpore does not export GridSampler2D to ONNX. In evaluation it is made of gathers, and the values agree within a
millionth.
"""

from __future__ import annotations

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops
from numpy.typing import NDArray

from hccl_kit.ocr.models.bilinear import EDGES, bilinear


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


CHANNELS = (32, 64, 128, 256, 256, 256)
HIDDEN = 512
INITIAL_MARGIN = 0.01
DAMPING = 0.1
"""Scale of the inputs of the last layer: the control points move slowly."""
Size = tuple[int, int]
Points = NDArray[np.float64]


def edge_points(count: int, margins: tuple[float, float]) -> Points:
    """`count` points (x, y) in the unit square, `margins` from its sides: half on the upper edge, half on the lower."""
    across, down = margins
    x = np.linspace(across, 1 - across, count // 2)
    return np.concatenate([np.stack([x, np.full_like(x, y)], axis=1) for y in (down, 1 - down)])


def bending(one: Points, other: Points) -> Points:
    """The kernel r^2 log(r) of the distances r between the points (m, 2) and (n, 2); shape (m, n)."""
    squared = np.square(one[:, None] - other[None]).sum(axis=2)
    return 0.5 * squared * np.log(np.where(squared > 0, squared, 1))


def coefficients(targets: Points) -> Points:
    """The matrix (n + 3, n) from the positions of n `targets` in the image to the spline of least bending energy.

    The spline has a coefficient for the kernel of each target and three for its affine part.
    """
    affine = np.concatenate([np.ones((len(targets), 1)), targets], axis=1)
    system = np.block([[bending(targets, targets), affine], [affine.T, np.zeros((3, 3))]])
    return np.linalg.inv(system)[:, : len(targets)]


def values(targets: Points, places: Points) -> Points:
    """The matrix (m, n + 3) from these coefficients to the positions of m `places` in the image."""
    return np.concatenate([bending(places, targets), np.ones((len(places), 1)), places], axis=1)


def _pixels(size: Size) -> Points:
    """The centres (x, y) of all pixels, row by row; the outermost are on the edges of the unit square."""
    rows, columns = np.mgrid[0 : size[0], 0 : size[1]]
    return np.stack([columns.ravel() / (size[1] - 1), rows.ravel() / (size[0] - 1)], axis=1)


class Localisation(nn.Cell):
    """Images (N, C, H, W) of a fixed size to control points (N, count, 2), x and y from 0 to 1 in the image.

    Initially they are evenly spaced along the edges of the image.
    """

    def __init__(self, channels: int, size: Size, *, count: int) -> None:
        super().__init__()
        self.count = count
        cells: list[nn.Cell] = []
        before = channels
        for after in CHANNELS:
            cells += [nn.MaxPool2d(2, 2)] if cells else []
            convolution = nn.Conv2d(before, after, 3, pad_mode="pad", padding=1, has_bias=False)
            cells.append(nn.SequentialCell(convolution, nn.BatchNorm2d(after), nn.ReLU()))
            before = after
        shrunk = 2 ** (len(CHANNELS) - 1)
        features = before * (size[0] // shrunk) * (size[1] // shrunk)
        start = edge_points(count, (INITIAL_MARGIN, INITIAL_MARGIN)).astype(np.float32)
        self.stn_convnet = nn.SequentialCell(*cells)
        self.stn_fc1 = nn.SequentialCell(nn.Dense(features, HIDDEN), nn.BatchNorm1d(HIDDEN), nn.ReLU())
        self.stn_fc2 = nn.Dense(HIDDEN, 2 * count, weight_init="zeros", bias_init=Tensor(start.reshape(-1)))

    def construct(self, images: Tensor) -> Tensor:
        features = ops.flatten(self.stn_convnet(images))
        return ops.reshape(self.stn_fc2(DAMPING * self.stn_fc1(features)), (-1, self.count, 2))


class Rectifier(nn.Cell):
    """Images (N, C, H, W) of any size to straightened images (N, C, *outputs).

    The control points come from a copy resized to `inputs`, the pixels from the image itself.
    """

    def __init__(self, channels: int, *, inputs: Size, outputs: Size, targets: Points) -> None:
        super().__init__()
        self.outputs = outputs
        self.inputs = inputs
        self.stn_head = Localisation(channels, inputs, count=len(targets))
        # Two matrices instead of their product: this rounds as in MindOCR, where the models were trained (a thousandth
        # of a pixel).
        self.coefficients = Tensor(coefficients(targets).astype(np.float32))
        self.values = Tensor(values(targets, _pixels(outputs)).astype(np.float32))
        self.sample = Sample()

    def construct(self, images: Tensor) -> Tensor:
        points = self.stn_head(bilinear(images, *self.inputs, keeps=EDGES))
        source = ops.matmul(self.values, ops.matmul(self.coefficients, points))
        grid = ops.reshape(2 * ops.clamp(source, 0, 1) - 1, (-1, *self.outputs, 2))
        return self.sample(images, grid)


def rectifier(
    *,
    in_channels: int = 3,
    tps_inputsize: list[int] | tuple[int, ...] = (32, 64),
    tps_outputsize: list[int] | tuple[int, ...] = (32, 100),
    num_control_points: int = 20,
    tps_margins: list[float] | tuple[float, ...] = (0.05, 0.05),
    stn_activation: str = "none",
) -> Rectifier:
    """The cell of MindOCR's keys; `stn_activation` is always "none"."""
    del stn_activation
    return Rectifier(
        in_channels,
        inputs=(tps_inputsize[0], tps_inputsize[1]),
        outputs=(tps_outputsize[0], tps_outputsize[1]),
        targets=edge_points(num_control_points, (tps_margins[0], tps_margins[1])),
    )
