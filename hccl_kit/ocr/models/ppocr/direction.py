"""The classifier of directions of PP-OCR: MobileNetV3 small at 0.35 of its width, whether a line lies upside down.

After Howard et al. 2019, "Searching for MobileNetV3", table 2, in PaddleOCR's variant for lines: strides reduce the
height alone, every block expands, and squeezing has a hard sigmoid of slope 0.2. Cells are created in the order in
which they run, see `lcnet_v4`.
"""

from __future__ import annotations

from mindspore import Tensor, nn, ops

from hccl_kit.ocr.models.mobilenet_v3 import SMALL, STEM, HardSwish, scaled
from hccl_kit.ocr.models.ppocr.lcnet_v4 import SqueezeExcite, mean_of_pixels

WIDTH = 0.35
LAST = 576
SLOPE = 0.2
CLASSES = 2
"""Upright, upside down."""
Stride = int | tuple[int, int]


def _normalised(before: int, after: int, kernel: int, stride: Stride = 1, group: int = 1) -> tuple[nn.Cell, nn.Cell]:
    """A convolution that keeps the size, or divides it by the stride and rounds up, and its normalisation."""
    convolution = nn.Conv2d(
        before, after, kernel, stride=stride, pad_mode="pad", padding=kernel // 2, group=group, has_bias=False
    )
    return convolution, nn.BatchNorm2d(after, eps=1e-5, momentum=0.9)


class Block(nn.Cell):
    """Expansion, depthwise convolution, squeeze and excitation, projection; plus the input if shapes match."""

    def __init__(
        self, before: int, after: int, *, inside: int, kernel: int, stride: Stride, squeeze: bool, hard: bool
    ) -> None:
        super().__init__()
        activation = HardSwish if hard else nn.ReLU
        self.layers = nn.SequentialCell(
            *_normalised(before, inside, 1),
            activation(),
            *_normalised(inside, inside, kernel, stride, inside),
            activation(),
            *([SqueezeExcite(inside, slope=SLOPE)] if squeeze else []),
            *_normalised(inside, after, 1),
        )
        self.residual = stride == 1 and before == after

    def construct(self, x: Tensor) -> Tensor:
        return x + self.layers(x) if self.residual else self.layers(x)


class Direction(nn.Cell):
    """Lines (N, 3, 48, W), BGR from -1 to 1, to the probabilities (N, 2) of lying upright and upside down."""

    def __init__(self) -> None:
        super().__init__()
        width = scaled(STEM, WIDTH)
        cells = [*_normalised(3, width, 3, 2), HardSwish()]
        for row in SMALL:
            after = scaled(row.after, WIDTH)
            cells.append(
                Block(
                    width,
                    after,
                    inside=scaled(row.inside, WIDTH),
                    kernel=row.kernel,
                    stride=1 if row.stride == 1 else (row.stride, 1),
                    squeeze=row.squeeze,
                    hard=row.hard_swish,
                )
            )
            width = after
        last = scaled(LAST, WIDTH)
        cells += [*_normalised(width, last, 1), HardSwish(), nn.MaxPool2d(2, stride=2)]
        self.features = nn.SequentialCell(*cells)
        self.classifier = nn.Dense(last, CLASSES)

    def construct(self, images: Tensor) -> Tensor:
        return ops.softmax(self.classifier(ops.flatten(mean_of_pixels(self.features(images)))), 1)
