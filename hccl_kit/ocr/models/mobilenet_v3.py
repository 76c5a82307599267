"""MobileNetV3 as a feature extractor: from images to one feature map for each of four strides.

After Howard et al. 2019, "Searching for MobileNetV3", in the variant that MindOCR's detectors use: every block expands,
and squeezing is two dense layers with a plain sigmoid. Parameters have MindOCR's names.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import NamedTuple

from mindspore import Tensor, nn, ops
from mindspore.common.initializer import Normal

from hccl_kit.base.errors import KitError


class Row(NamedTuple):
    """A block of the paper's tables 1 and 2."""

    kernel: int
    inside: int
    after: int
    squeeze: bool
    hard_swish: bool
    stride: int | tuple[int, int]


SE, NO, HS, RE = True, False, True, False
LARGE = (
    Row(3, 16, 16, NO, RE, 1),
    Row(3, 64, 24, NO, RE, 2),
    Row(3, 72, 24, NO, RE, 1),
    Row(5, 72, 40, SE, RE, 2),
    Row(5, 120, 40, SE, RE, 1),
    Row(5, 120, 40, SE, RE, 1),
    Row(3, 240, 80, NO, HS, 2),
    Row(3, 200, 80, NO, HS, 1),
    Row(3, 184, 80, NO, HS, 1),
    Row(3, 184, 80, NO, HS, 1),
    Row(3, 480, 112, SE, HS, 1),
    Row(3, 672, 112, SE, HS, 1),
    Row(5, 672, 160, SE, HS, 2),
    Row(5, 960, 160, SE, HS, 1),
    Row(5, 960, 160, SE, HS, 1),
)
SMALL = (
    Row(3, 16, 16, SE, RE, 2),
    Row(3, 72, 24, NO, RE, 2),
    Row(3, 88, 24, NO, RE, 1),
    Row(5, 96, 40, SE, HS, 2),
    Row(5, 240, 40, SE, HS, 1),
    Row(5, 240, 40, SE, HS, 1),
    Row(5, 120, 48, SE, HS, 1),
    Row(5, 144, 48, SE, HS, 1),
    Row(5, 288, 96, SE, HS, 2),
    Row(5, 576, 96, SE, HS, 1),
    Row(5, 576, 96, SE, HS, 1),
)
ARCHITECTURES = {"large": LARGE, "small": SMALL}
STEM = 16
FIRST = 3
"""Index of the first block in the list `features`, after convolution, normalisation and activation."""


def scaled(channels: int, alpha: float) -> int:
    """`alpha` times the channels, rounded to a multiple of 8, at least 8 and at least 0.9 times the exact value."""
    exact = channels * alpha
    rounded = max(8, int(exact + 4) // 8 * 8)
    return rounded if rounded >= 0.9 * exact else rounded + 8


def convolution(before: int, after: int, kernel: int = 1, *, stride: int = 1, group: int = 1) -> nn.Conv2d:
    """A convolution without bias, because a normalisation follows; a stride rounds sizes up."""
    start = Normal(sqrt(2 / (kernel * kernel * after)))
    mode = {"pad_mode": "pad", "padding": kernel // 2} if group == 1 else {"pad_mode": "same"}
    return nn.Conv2d(before, after, kernel, stride=stride, group=group, has_bias=False, weight_init=start, **mode)


class HardSwish(nn.Cell):
    """x relu6(x + 3) / 6: in training one operator, which takes less memory, else operators that ONNX has."""

    def __init__(self) -> None:
        super().__init__()
        self.fused = nn.HSwish()

    def construct(self, x: Tensor) -> Tensor:
        return self.fused(x) if self.training else x * (ops.relu6(x + 3) * (1 / 6))


class SqueezeExcite(nn.Cell):
    """A map (N, C, H, W) times a weight per channel, computed from the means of all channels."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv_reduce = nn.Dense(channels, channels // 4, weight_init=Normal(0.01), bias_init="zeros")
        self.conv_expand = nn.Dense(channels // 4, channels, weight_init=Normal(0.01), bias_init="zeros")

    def construct(self, x: Tensor) -> Tensor:
        squeezed = ops.relu(self.conv_reduce(ops.mean(x, (2, 3))))
        weight = ops.sigmoid(self.conv_expand(squeezed))
        return x * ops.reshape(weight, (*weight.shape, 1, 1))


class InvertedResidual(nn.Cell):
    """A block: expansion, depthwise convolution, squeeze and excitation, projection; plus the input if shapes match.

    Without `always_expand` a block that is as wide inside as its input has no expansion, as in the paper.
    """

    def __init__(
        self,
        before: int,
        row: Row,
        *,
        always_expand: bool = True,
        squeeze: Callable[[int], nn.Cell] = SqueezeExcite,
        convolution: Callable[..., nn.Cell] = convolution,
    ) -> None:
        super().__init__()
        inside, after = row.inside, row.after
        activation = HardSwish if row.hard_swish else nn.ReLU
        expansion = [convolution(before, inside), nn.BatchNorm2d(inside), activation()]
        self.layers = nn.SequentialCell(
            *(expansion if always_expand or inside != before else []),
            convolution(inside, inside, row.kernel, stride=row.stride, group=inside),
            nn.BatchNorm2d(inside),
            activation(),
            *([squeeze(inside)] if row.squeeze else []),
            convolution(inside, after),
            nn.BatchNorm2d(after),
        )
        self.residual = row.stride == 1 and before == after

    def construct(self, x: Tensor) -> Tensor:
        return x + self.layers(x) if self.residual else self.layers(x)


class MobileNetV3(nn.Cell):
    """Images (N, 3, H, W) to the outputs of the entries `out_stages` of the list `features`, from fine to coarse.

    By default the last ones of the strides 4, 8, 16 and 32; H and W are multiples of 32.
    """

    def __init__(self, rows: tuple[Row, ...], *, stem: int, last: int, out_stages: tuple[int, ...]) -> None:
        super().__init__()
        cells = [convolution(3, stem, 3, stride=2), nn.BatchNorm2d(stem), HardSwish()]
        widths = [stem, stem, stem]
        for row in rows:
            cells.append(InvertedResidual(widths[-1], row))
            widths.append(row.after)
        cells += [convolution(widths[-1], last), nn.BatchNorm2d(last), HardSwish()]
        widths += [last, last, last]
        self.features = nn.CellList(cells)
        self.out_stages = out_stages
        self.out_channels = tuple(widths[index] for index in out_stages)

    def construct(self, images: Tensor) -> tuple[Tensor, ...]:
        x = images
        outputs: tuple[Tensor, ...] = ()
        for index, cell in enumerate(self.features):
            x = cell(x)
            if index in self.out_stages:
                outputs += (x,)
        return outputs


def mobilenet_v3(*, architecture: str, alpha: float, out_stages: list[int] | None, disable_se: bool) -> MobileNetV3:
    """The network of MindOCR's keys; `disable_se` removes squeezing. Raises KitError if `out_stages` is not valid."""
    rows = tuple(
        row._replace(
            inside=scaled(row.inside, alpha), after=scaled(row.after, alpha), squeeze=row.squeeze and not disable_se
        )
        for row in ARCHITECTURES[architecture]
    )
    stages = tuple(out_stages) if out_stages else _last_of_strides(rows)
    _assert_stages(stages, FIRST + len(rows) + 3)
    last = scaled(6 * ARCHITECTURES[architecture][-1].after, alpha)
    return MobileNetV3(rows, stem=scaled(STEM, alpha), last=last, out_stages=stages)


def _last_of_strides(rows: tuple[Row, ...]) -> tuple[int, ...]:
    """The entries of `features` after which the stride grows, from stride 4 on, and the last one."""
    before_growth = [FIRST + index - 1 for index, row in enumerate(rows) if row.stride == 2]
    return (*before_growth[-3:], FIRST + len(rows) + 2)


def _assert_stages(stages: tuple[int, ...], entries: int) -> None:
    if list(stages) != sorted(set(stages)) or stages[-1] >= entries:
        raise KitError(
            "ocr.mobilenet-v3.model-backbone-out",
            "model.backbone.out_stages is {stages}: four entries are needed, ascending, from 0 to {entries}",
            fix="leave the key out for the last entry of each of the strides 4, 8, 16 and 32",
            stages=list(stages),
            entries=entries - 1,
        )
