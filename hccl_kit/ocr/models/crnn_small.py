"""A CRNN of a few convolutions: 0.15 million parameters for short words on one line, more for longer lines.

After Shi, Bai, Yao 2015, "An End-to-End Trainable Neural Network for Image-based Sequence Recognition", with one path
more: the classifier sees the convolution features beside what the BiLSTM makes of them. A net this small learns slowly
without it, because gradients reach the convolutions only through an LSTM that knows nothing yet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mindspore import Tensor, nn, ops

HEIGHT, STRIDE = 32, 4
"""Images are 32 pixels high; four columns make one step of the sequence."""


def _stage(
    before: int, after: int, *, stride: tuple[int, int] = (1, 1), pool: tuple[int, int] | None = None
) -> list[nn.Cell]:
    """A 3x3 convolution, batch normalisation, ReLU and a pooling; `stride` and `pool` divide height and width.

    At full resolution a stride does it: on CPU, MindSpore's normalisation and the gradient of its pooling each cost
    more there than the convolution (measured). Strides all the way would cost accuracy.
    """
    convolution = nn.Conv2d(before, after, 3, stride=stride, pad_mode="pad", padding=1, has_bias=False)
    cells = [convolution, nn.BatchNorm2d(after), nn.ReLU()]
    return [*cells, nn.MaxPool2d(pool, pool)] if pool else cells


class Backbone(nn.Cell):
    """Images (N, 3, 32, W) to a sequence (W/4, N, channels[4]): one step for every four columns."""

    def __init__(self, channels: Sequence[int]) -> None:
        super().__init__()
        one, two, three, four, five = channels
        self.out_channels = five
        self.features = nn.SequentialCell(
            *_stage(3, one, stride=(2, 2)),
            *_stage(one, two, pool=(2, 2)),
            *_stage(two, three),
            *_stage(three, four, pool=(2, 1)),
            nn.Conv2d(four, five, (4, 1), pad_mode="valid", has_bias=False),
            nn.BatchNorm2d(five),
            nn.ReLU(),
        )

    def construct(self, images: Tensor) -> Tensor:
        return ops.transpose(ops.squeeze(self.features(images), 2), (2, 0, 1))


class CrnnSmall(nn.Cell):
    """Images (N, 3, 32, W) to logits (W/4, N, classes) in training, else to probabilities (N, W/4, classes)."""

    def __init__(self, channels: Sequence[int], *, hidden_size: int, classes: int) -> None:
        super().__init__()
        self.backbone = Backbone(channels)
        width = self.backbone.out_channels
        self.neck = nn.LSTM(width, hidden_size, bidirectional=True)
        self.head = nn.Dense(width + 2 * hidden_size, classes)

    def construct(self, images: Tensor) -> Tensor:
        features = self.backbone(images)
        sequence, _ = self.neck(features)
        logits = self.head(ops.concat((features, sequence), 2))
        if self.training:
            return logits
        return ops.transpose(ops.softmax(logits, 2), (1, 0, 2))


def steps(width: int) -> int:
    """The length of the sequence of images that are `width` wide."""
    return width // STRIDE


def build(model: Mapping[str, Any]) -> CrnnSmall:
    """The network that the section `model` of a configuration describes."""
    channels = model["backbone"]["channels"]
    return CrnnSmall(channels, hidden_size=model["neck"]["hidden_size"], classes=model["head"]["out_channels"])
