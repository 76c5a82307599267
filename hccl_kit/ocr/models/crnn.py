"""A bidirectional LSTM without initial states."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import mindspore as ms
from mindspore import Tensor, nn, ops

from hccl_kit.ocr.config import options_of
from hccl_kit.ocr.models.ctc_head import CTCHead
from hccl_kit.ocr.models.dropout import Dropout
from hccl_kit.ocr.models.network import Network


class BidirectionalLSTM(nn.LSTM):
    """nn.LSTM in both directions: a sequence (T, N, C) to (T, N, 2 hidden_size), from states of zero."""

    def __init__(self, channels: int, hidden_size: int, *, num_layers: int = 1) -> None:
        super().__init__(channels, hidden_size, num_layers=num_layers, bidirectional=True)

    def construct(self, sequence: Tensor) -> Tensor:
        return super().construct(sequence)[0]


class RNNEncoder(nn.Cell):
    """Features (N, C, 1, T) to a sequence (T, N, 2 hidden_size), through two bidirectional LSTM layers.

    Always in float32: a state that is summed over all time steps loses too much in float16.
    """

    def __init__(self, channels: int, *, hidden_size: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.out_channels = 2 * hidden_size
        self.seq_encoder = BidirectionalLSTM(channels, hidden_size, num_layers=2)
        self.before, self.behind = Dropout(dropout), Dropout(dropout)

    def construct(self, features: Tensor) -> Tensor:
        columns = ops.transpose(ops.squeeze(features, 2), (2, 0, 1))
        return self.behind(self.seq_encoder(self.before(ops.cast(columns, ms.float32))))


def build(model: Mapping[str, Any], *, backbone: Callable[..., nn.Cell]) -> Network:
    """The network of a section `model`; `backbone` makes features (N, C, 1, T) of images, C in its `out_channels`.

    From images (N, 3, 32, W) to logits (T, N, classes) in training, else to probabilities (N, T, classes). T is the
    `sequence_length` of the backbone's module.
    """
    features = backbone(**options_of(model["backbone"]))
    neck = RNNEncoder(features.out_channels, **options_of(model["neck"]))
    return Network(features, neck, CTCHead(neck.out_channels, **options_of(model["head"])))
