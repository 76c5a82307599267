"""The classifier of directions of PP-OCR: MobileNetV3 small at 0.35 of its width, whether a line lies upside down.

After Howard et al. 2019, "Searching for MobileNetV3", table 2, in PaddleOCR's variant for lines: strides reduce the
height alone, every block expands, and squeezing has a hard sigmoid of slope 0.2. Cells are created in the order in
which they run, see `lcnet_v4`.
"""

from __future__ import annotations

from functools import partial

from mindspore import Tensor, nn, ops

from hccl_kit.ocr.models.mobilenet_v3 import SMALL, STEM, HardSwish, InvertedResidual, Row, scaled
from hccl_kit.ocr.models.ppocr.lcnet_v4 import SqueezeExcite, mean_of_pixels

WIDTH = 0.35
LAST = 576
SLOPE = 0.2
CLASSES = 2
"""Upright, upside down."""


def _convolution(
    before: int, after: int, kernel: int = 1, *, stride: int | tuple[int, int] = 1, group: int = 1
) -> nn.Conv2d:
    """A convolution that keeps the size, or divides it by the stride and rounds up."""
    return nn.Conv2d(
        before, after, kernel, stride=stride, pad_mode="pad", padding=kernel // 2, group=group, has_bias=False
    )


def _row(row: Row) -> Row:
    stride = 1 if row.stride == 1 else (2, 1)
    return row._replace(inside=scaled(row.inside, WIDTH), after=scaled(row.after, WIDTH), stride=stride)


class Direction(nn.Cell):
    """Lines (N, 3, 48, W), BGR from -1 to 1, to the probabilities (N, 2) of lying upright and upside down."""

    def __init__(self) -> None:
        super().__init__()
        width = scaled(STEM, WIDTH)
        cells = [_convolution(3, width, 3, stride=2), nn.BatchNorm2d(width), HardSwish()]
        squeeze = partial(SqueezeExcite, slope=SLOPE)
        for row in map(_row, SMALL):
            cells.append(InvertedResidual(width, row, squeeze=squeeze, convolution=_convolution))
            width = row.after
        last = scaled(LAST, WIDTH)
        cells += [_convolution(width, last), nn.BatchNorm2d(last), HardSwish(), nn.MaxPool2d(2, stride=2)]
        self.features = nn.SequentialCell(*cells)
        self.classifier = nn.Dense(last, CLASSES)

    def construct(self, images: Tensor) -> Tensor:
        return ops.softmax(self.classifier(ops.flatten(mean_of_pixels(self.features(images)))), 1)
