"""The decoder that guides the recognisers of PP-OCR in training, and the head that joins it with CTC.

After Sheng, Chen, Xu 2018, "NRTR: A No-Recurrence Sequence-to-Sequence Model For Scene Text Recognition", with the
sizes of PaddleOCR's configurations of PP-OCRv6: four layers, heads of 32 channels, perceptrons four times as wide, a
dropout of 0.1 on every residual. The decoder is not part of published weights and is not used for inference.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from mindspore import Tensor, nn, ops
from mindspore.common.initializer import Normal

from hccl_kit.ocr.models.dropout import Dropout
from hccl_kit.ocr.models.network import CTCHead, Network

SPECIAL = 4
"""The tokens before those of the characters, in PaddleOCR's order: padding, unknown, start, end."""
PADDING, START, END = 0, 2, 3
EACH = 32
"""Channels of a head of attention."""
DROPOUT = 0.1


class Attention(nn.Cell):
    """From columns (N, L, C) to columns (N, L, C) by attention to others, (N, T, C).

    `causal`: a column does not attend to those that follow it.
    """

    def __init__(self, width: int, *, causal: bool) -> None:
        super().__init__()
        self.width, self.causal = width, causal
        self.query, self.key, self.value = nn.Dense(width, width), nn.Dense(width, width), nn.Dense(width, width)
        self.project = nn.Dense(width, width)

    def construct(self, x: Tensor, others: Tensor) -> Tensor:
        query = _heads(self.query(x) * EACH**-0.5, self.width)
        key, value = _heads(self.key(others), self.width), _heads(self.value(others), self.width)
        logits = ops.matmul(query, ops.transpose(key, (0, 1, 3, 2)))
        if self.causal:
            logits = logits + ops.cast(_causal(x.shape[1]), logits.dtype)
        mixed = ops.transpose(ops.matmul(ops.softmax(logits, -1), value), (0, 2, 1, 3))
        return self.project(ops.reshape(mixed, (-1, x.shape[1], self.width)))


class Layer(nn.Cell):
    """Attention to earlier tokens, attention to the image, a perceptron; a normalisation after each residual."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.own, self.image = Attention(width, causal=True), Attention(width, causal=False)
        self.expand, self.reduce = nn.Dense(width, 4 * width), nn.Dense(4 * width, width)
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm((width,), epsilon=1e-5) for _ in range(3))
        self.drop1, self.drop2, self.drop3 = (Dropout(DROPOUT) for _ in range(3))

    def construct(self, x: Tensor, image: Tensor) -> Tensor:
        x = self.norm1(x + self.drop1(self.own(x, x)))
        x = self.norm2(x + self.drop2(self.image(x, image)))
        return self.norm3(x + self.drop3(self.reduce(ops.relu(self.expand(x)))))


class Decoder(nn.Cell):
    """Features (N, C, 1, T) and tokens (N, L) int32 to the logits of each next token, (N, L - 1, classes).

    Padding needs no mask: it is at the end, so no token before it attends to it.
    """

    def __init__(self, channels: int, classes: int, *, dims: int, layers: int) -> None:
        super().__init__()
        self.scale = sqrt(dims)
        self.dims = dims
        self.image = nn.Dense(channels, dims, has_bias=False)
        self.embedding = nn.Embedding(classes, dims, embedding_table=Normal(dims**-0.5))
        self.drop = Dropout(DROPOUT)
        self.layers = nn.CellList([Layer(dims) for _ in range(layers)])
        self.generator = nn.Dense(dims, classes, has_bias=False, weight_init=Normal(dims**-0.5))

    def construct(self, features: Tensor, tokens: Tensor) -> Tensor:
        image = self.image(ops.transpose(ops.squeeze(features, 2), (0, 2, 1)))
        given = tokens[:, :-1]
        x = self.embedding(given) * self.scale
        x = self.drop(x + ops.cast(_positions(given.shape[1], self.dims), x.dtype))
        for layer in self.layers:
            x = layer(x, image)
        return self.generator(x)


class MultiHead(CTCHead):
    """`CTCHead` and a parallel decoder, which only training uses.

    A sequence (T, N, C) alone gives what `CTCHead` gives. With features (N, `of_features`, 1, T) and tokens (N, L) it
    gives the logits (T, N, out_channels) of CTC and those of the decoder, (N, L - 1, out_channels + 3). `nrtr_dims`, a
    multiple of 32, and `nrtr_layers` are the width and the number of layers of the decoder.
    """

    def __init__(
        self, channels: int, of_features: int, *, out_channels: int, nrtr_dims: int = 384, nrtr_layers: int = 4
    ) -> None:
        super().__init__(channels, out_channels=out_channels)
        classes = out_channels - 1 + SPECIAL  # CTC's blank is not a token
        self.nrtr = Decoder(of_features, classes, dims=nrtr_dims, layers=nrtr_layers)

    def construct(
        self, sequence: Tensor, features: Tensor | None = None, tokens: Tensor | None = None
    ) -> Tensor | tuple[Tensor, Tensor]:
        prediction = super().construct(sequence)
        return prediction if tokens is None else (prediction, self.nrtr(features, tokens))


class GuidedNetwork(Network):
    """Images (N, 3, H, W) through backbone and neck to the outputs of `MultiHead`: both with targets, else CTC's."""

    guided = True
    """In training the network takes the targets of the loss as well as the images."""

    def construct(
        self,
        images: Tensor,
        _labels: Tensor | None = None,
        _lengths: Tensor | None = None,
        tokens: Tensor | None = None,
    ) -> Tensor | tuple[Tensor, Tensor]:
        features = self.backbone(images)
        return self.head(self.neck(features), features, tokens)


def _heads(x: Tensor, width: int) -> Tensor:
    """Columns (N, L, C) to (N, heads, L, EACH)."""
    return ops.transpose(ops.reshape(x, (-1, x.shape[1], width // EACH, EACH)), (0, 2, 1, 3))


@ops.constexpr
def _causal(length: int) -> Tensor:
    """(L, L): 0 for a token itself and those before it, -inf for those that follow."""
    return Tensor(np.triu(np.full((length, length), -np.inf, np.float32), 1))


@ops.constexpr
def _positions(length: int, dims: int) -> Tensor:
    """(L, dims): sines and cosines, as in Vaswani et al. 2017."""
    angles = np.arange(length)[:, None] * 10000.0 ** (-np.arange(0, dims, 2) / dims)
    return Tensor(np.stack((np.sin(angles), np.cos(angles)), 2).reshape(length, dims).astype(np.float32))
