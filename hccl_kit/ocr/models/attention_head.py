"""A classifier that spells a text sign by sign, and looks at a part of the sequence for each of them.

After Shi, Wang, Lyu, Yao, Bai 2016, "Robust Scene Text Recognition with Automatic Rectification", with the additive
attention of Bahdanau, Cho, Bengio 2014. Parameters are named as MindOCR names them.
"""

from __future__ import annotations

import mindspore as ms
from mindspore import Tensor, nn, ops

from hccl_kit.ocr.charset import GO


class AttentionCell(nn.Cell):
    """The next state (N, hidden) from the last one, the sequence (N, T, C) and the sign before (N, classes)."""

    def __init__(self, channels: int, *, hidden_size: int, classes: int) -> None:
        super().__init__()
        self.i2h = nn.Dense(channels, hidden_size, has_bias=False)
        self.h2h = nn.Dense(hidden_size, hidden_size)
        self.score = nn.Dense(hidden_size, 1, has_bias=False)
        self.rnn = nn.GRUCell(channels + classes, hidden_size)

    def construct(self, state: Tensor, sequence: Tensor, keys: Tensor, sign: Tensor) -> Tensor:
        """`keys` (N, T, hidden) is what `i2h` makes of the sequence, the same for all signs."""
        scores = self.score(ops.tanh(keys + ops.expand_dims(self.h2h(state), 1)))
        seen = ops.reduce_sum(ops.softmax(scores, 1) * sequence, 1)
        return self.rnn(ops.concat((seen, sign), 1), state)


class AttentionHead(nn.Cell):
    """A sequence (T, N, C) to logits (N, L, classes) where the targets are given, else to probabilities of that shape.

    L is `batch_max_length` and one for the stop. `targets` (N, at least L) are the signs before each, the go first:
    the network learns to go on from the right ones, and in use it goes on from its own.
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
        before = ops.full((sequence.shape[0],), GO, dtype=ms.int32)
        spelt: tuple[Tensor, ...] = ()
        for step in range(self.steps):
            if targets is not None:
                before = targets[:, step]
            one_hot = ops.cast(ops.one_hot(before, self.classes, 1, 0), sequence.dtype)
            state = self.attention_cell(state, sequence, keys, one_hot)
            logits = self.generator(state)
            spelt = (*spelt, logits)
            before = ops.cast(ops.argmax(logits, 1), ms.int32)
        signs = ops.stack(spelt, 1)
        return ops.softmax(signs, 2) if targets is None else signs
