"""A CRNN of a few convolutions: 0.15 million parameters for short words on one line, more for longer lines.

After Shi, Bai, Yao 2015, "An End-to-End Trainable Neural Network for Image-based Sequence Recognition", with one more
path: the classifier sees the convolution features next to the outputs of the BiLSTM. Without it a network this small
learns slowly, because gradients reach the convolutions only through an LSTM that has learnt nothing yet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mindspore import Tensor, nn, ops

from hccl_kit.ocr.config import options_of
from hccl_kit.ocr.models.crnn import BidirectionalLSTM
from hccl_kit.ocr.models.dropout import Dropout
from hccl_kit.ocr.models.network import MaxPool

HEIGHT, STRIDE = 32, 4
"""Images are 32 pixels high; four columns make one time step."""


def _stage(before: int, after: int, *, stride: tuple[int, int] = (1, 1), pool: nn.Cell | None = None) -> list[nn.Cell]:
    """A 3x3 convolution, batch normalisation, a pooling and ReLU; `stride` and `pool` divide height and width.

    At full resolution a stride is used: on CPU, MindSpore's normalisation costs more there than the convolution
    (measured). ReLU follows the pooling, where maps are smaller; it commutes with the maximum.
    """
    convolution = nn.Conv2d(before, after, 3, stride=stride, pad_mode="pad", padding=1, has_bias=False)
    return [convolution, nn.BatchNorm2d(after), *([pool] if pool else []), nn.ReLU()]


def _closing(before: int, after: int) -> list[nn.Cell]:
    """The remaining four rows become one."""
    return [nn.Conv2d(before, after, (4, 1), pad_mode="valid", has_bias=False), nn.BatchNorm2d(after), nn.ReLU()]


def _for_words(channels: Sequence[int]) -> list[nn.Cell]:
    """rec_conv_small: five convolutions."""
    one, two, three, four, five = channels
    return [
        *_stage(3, one, stride=(2, 2)),
        *_stage(one, two, pool=MaxPool()),
        *_stage(two, three),
        *_stage(three, four, pool=MaxPool(rows_only=True)),
        *_closing(four, five),
    ]


def _for_lines(channels: Sequence[int]) -> list[nn.Cell]:
    """rec_conv_lines: six convolutions, the fourth at low resolution, the last one along the line only.

    A training step takes two thirds of the time of five convolutions with the same widths, and lines are learnt in
    fewer epochs (measured on receipts).
    """
    one, two, three, four, five, six = channels
    return [
        *_stage(3, one, stride=(2, 2)),
        *_stage(one, two, stride=(2, 2)),
        *_stage(two, three, pool=MaxPool(rows_only=True)),
        *_stage(three, four),
        *_closing(four, five),
        # MindSpore exports explicit paddings to ONNX in the wrong order.
        nn.Conv2d(five, six, (1, 5), pad_mode="same", has_bias=False),
        nn.BatchNorm2d(six),
        nn.ReLU(),
    ]


BACKBONES: dict[str, Callable[[Sequence[int]], list[nn.Cell]]] = {
    "rec_conv_small": _for_words,
    "rec_conv_lines": _for_lines,
}


class Features(nn.SequentialCell):
    """Images (N, 3, 32, W) to features (N, channels[-1], 1, W/4)."""

    def __init__(self, name: str, *, channels: Sequence[int]) -> None:
        super().__init__(*BACKBONES[name](channels))
        self.out_channels = channels[-1]


class Backbone(nn.Cell):
    """Images (N, 3, 32, W) to a sequence (W/4, N, channels[-1]): one time step for every four columns."""

    def __init__(self, name: str, channels: Sequence[int]) -> None:
        super().__init__()
        self.features = Features(name, channels=channels)
        self.out_channels = self.features.out_channels

    def construct(self, images: Tensor) -> Tensor:
        return ops.transpose(ops.squeeze(self.features(images), 2), (2, 0, 1))


class CrnnSmall(nn.Cell):
    """Images (N, 3, 32, W) to logits (W/4, N, classes) in training, else to probabilities (N, W/4, classes)."""

    def __init__(self, backbone: Backbone, *, hidden_size: int, classes: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.backbone = backbone
        width = self.backbone.out_channels
        self.neck = BidirectionalLSTM(width, hidden_size)
        self.before, self.behind = Dropout(dropout), Dropout(dropout)
        self.head = nn.Dense(width + 2 * hidden_size, classes)

    def construct(self, images: Tensor) -> Tensor:
        features = self.before(self.backbone(images))
        logits = self.head(self.behind(ops.concat((features, self.neck(features)), 2)))
        if self.training:
            return logits
        return ops.transpose(ops.softmax(logits, 2), (1, 0, 2))


def sequence_length(width: int) -> int:
    """The number of time steps for images that are `width` wide."""
    return width // STRIDE


def build(model: Mapping[str, Any]) -> CrnnSmall:
    """The network of a section `model`."""
    backbone = Backbone(model["backbone"]["name"], model["backbone"]["channels"])
    return CrnnSmall(backbone, classes=model["head"]["out_channels"], **options_of(model["neck"]))
