"""Recognisers with a bidirectional LSTM: CRNN with a classifier for CTC, and one with an attention decoder.

The decoder gives one token per time step, after Shi, Wang, Lyu, Yao, Bai 2016, "Robust Scene Text Recognition with
Automatic Rectification", with the additive attention of Bahdanau, Cho, Bengio 2014. Parameters have MindOCR's names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import mindspore as ms
from mindspore import Tensor, nn, ops

from hccl_kit.ocr.charset import BOS
from hccl_kit.ocr.config import options_of
from hccl_kit.ocr.models.dropout import Dropout
from hccl_kit.ocr.models.network import CTCHead, Network


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


class AttentionCell(nn.Cell):
    """The next state (N, hidden) from the last one, the sequence (N, T, C) and the previous token (N, classes)."""

    def __init__(self, channels: int, *, hidden_size: int, classes: int) -> None:
        super().__init__()
        self.i2h = nn.Dense(channels, hidden_size, has_bias=False)
        self.h2h = nn.Dense(hidden_size, hidden_size)
        self.score = nn.Dense(hidden_size, 1, has_bias=False)
        self.rnn = nn.GRUCell(channels + classes, hidden_size)

    def construct(self, state: Tensor, sequence: Tensor, keys: Tensor, token: Tensor) -> Tensor:
        """`keys` (N, T, hidden) is `i2h` of the sequence, the same for all time steps; `token` is one-hot."""
        scores = self.score(ops.tanh(keys + ops.expand_dims(self.h2h(state), 1)))
        context = ops.reduce_sum(ops.softmax(scores, 1) * sequence, 1)
        return self.rnn(ops.concat((context, token), 1), state)


class AttentionHead(nn.Cell):
    """A sequence (T, N, C) to logits (N, L, classes) if targets are given, else to probabilities of that shape.

    L is `batch_max_length` + 1, for EOS. `targets` (N, at least L) int32 are the previous token of each time step, BOS
    first: with them the head is teacher-forced, without them it continues from its own predictions.
    """

    def __init__(self, channels: int, *, out_channels: int, hidden_size: int = 256, batch_max_length: int = 25) -> None:
        super().__init__()
        self.classes = out_channels
        self.steps = batch_max_length + 1
        self.hidden_size = hidden_size
        self.attention_cell = AttentionCell(channels, hidden_size=hidden_size, classes=out_channels)
        self.generator = nn.Dense(hidden_size, out_channels)

    def construct(self, sequence: Tensor, targets: Tensor | None = None) -> Tensor:
        sequence = ops.transpose(sequence, (1, 0, 2))
        keys = self.attention_cell.i2h(sequence)
        state = ops.zeros((sequence.shape[0], self.hidden_size), sequence.dtype)
        token = ops.full((sequence.shape[0],), BOS, dtype=ms.int32)
        outputs: tuple[Tensor, ...] = ()
        for step in range(self.steps):
            if targets is not None:
                token = targets[:, step]
            one_hot = ops.cast(ops.one_hot(token, self.classes, 1, 0), sequence.dtype)
            state = self.attention_cell(state, sequence, keys, one_hot)
            logits = self.generator(state)
            outputs = (*outputs, logits)
            token = ops.cast(ops.argmax(logits, 1), ms.int32)
        stacked = ops.stack(outputs, 1)
        return ops.softmax(stacked, 2) if targets is None else stacked


class Rare(Network):
    """Images (N, 3, 32, W) and, in training, targets (N, L + 1) int32 to the outputs of AttentionHead."""

    guided = True
    """Teacher forcing: in training the network takes the targets of the loss as well as the images."""

    def construct(self, images: Tensor, targets: Tensor | None = None) -> Tensor:
        return self.head(self.neck(self.backbone(images)), targets)


HEADS: Mapping[str, tuple[type[Network], type[nn.Cell]]] = {
    "CTCHead": (Network, CTCHead),
    "AttentionHead": (Rare, AttentionHead),
}
"""Each head with the network that passes its inputs."""


def build(model: Mapping[str, Any], *, backbone: Callable[..., nn.Cell]) -> Network:
    """The network of a section `model`; `backbone` makes features (N, C, 1, T) of images, C in its `out_channels`.

    From images (N, 3, 32, W), with CTC to logits (T, N, classes) in training, else to probabilities (N, T, classes). T
    is the `sequence_length` of the backbone's module.
    """
    features = backbone(**options_of(model["backbone"]))
    neck = RNNEncoder(features.out_channels, **options_of(model["neck"]))
    whole, head = HEADS[model["head"]["name"]]
    return whole(features, neck, head(neck.out_channels, **options_of(model["head"])))
