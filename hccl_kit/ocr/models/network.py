"""What several networks share: their structure, pooling by two, and the classifier for CTC."""

from __future__ import annotations

from math import sqrt

from mindspore import Tensor, nn, ops
from mindspore.common.initializer import Initializer, Uniform


class Network(nn.Cell):
    """Images (N, 3, H, W) through backbone and neck to the outputs of the head."""

    def __init__(self, backbone: nn.Cell, neck: nn.Cell, head: nn.Cell) -> None:
        super().__init__()
        self.backbone = backbone
        self.neck = neck
        self.head = head

    def construct(self, images: Tensor) -> Tensor | tuple[Tensor, ...]:
        return self.head(self.neck(self.backbone(images)))


class MaxPool(nn.MaxPool2d):
    """The maximum of every two rows, and of every two columns unless `rows_only`.

    Features (N, C, H, W) to (N, C, H/2, W/2), or (N, C, H/2, W). An odd last row or column is dropped.
    """

    def __init__(self, *, rows_only: bool = False) -> None:
        window = (2, 1) if rows_only else (2, 2)
        super().__init__(window, window)
        self.rows_only = rows_only


CUSTOMISED = "crnn_customised"
"""MindOCR's name for initial values between -1 and 1 over the square root of the number of inputs."""


class CTCHead(nn.Cell):
    """A sequence (T, N, C) to logits (T, N, classes) in training, else to probabilities (N, T, classes).

    `weight_init` and `bias_init` are `crnn_customised` or MindSpore's names; "normal" has a deviation of 0.01.
    """

    def __init__(
        self, channels: int, *, out_channels: int, weight_init: str = "normal", bias_init: str = "zeros"
    ) -> None:
        super().__init__()
        self.dense1 = nn.Dense(
            channels, out_channels, weight_init=_start(weight_init, channels), bias_init=_start(bias_init, channels)
        )

    def construct(self, sequence: Tensor) -> Tensor:
        if self.training:
            return self.dense1(sequence)
        # Transposed before the classifier, whose output for a large dictionary is a hundred times as large as its
        # input.
        return ops.softmax(self.dense1(ops.transpose(sequence, (1, 0, 2))), 2)


def _start(name: str, channels: int) -> Initializer | str:
    return Uniform(1 / sqrt(channels)) if name == CUSTOMISED else name
