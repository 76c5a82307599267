"""Text heads (CTC, attention): class mapping, targets, loss and decoding of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from mindspore import nn
from numpy.typing import NDArray

from hccl_kit.ocr.charset import BOS, EOS, SPECIAL_TOKENS, Charset
from hccl_kit.ocr.config import Config
from hccl_kit.ocr.data.loader import Targets
from hccl_kit.ocr.decode.reading import Reading, attention_readings, ctc_readings
from hccl_kit.ocr.losses.lines import AttentionLoss, CaselessCTCLoss, CTCLoss, MultiLoss
from hccl_kit.ocr.models.ppocr import nrtr

Label = tuple[int, ...]
"""The numbers of the characters in the dictionary."""


@dataclass(frozen=True, slots=True)
class TextHead:
    """What belongs to one kind of head; `postprocess` and `criterion` are its names in a configuration."""

    postprocess: str
    criterion: str
    classes: Callable[[Charset], list[str | None]]
    """The token of each class; None for the CTC blank."""
    loss: Callable[[Charset, Sequence[bool] | None], nn.Cell]
    """The loss. With `tells_case` of CaselessCTCLoss, which only `CTC` uses, a character counts as both its cases."""
    min_length: Callable[[Label], int]
    """The least sequence length that a label needs."""
    targets: Callable[[Sequence[Label], int], Targets]
    """The targets of the loss, for labels of at most the given number of characters."""
    decode: Callable[[NDArray[np.float32], Charset], list[Reading]]


def _ctc_min_length(label: Label) -> int:
    """One time step for each character and one blank between two equal ones; with fewer the loss is infinite."""
    return len(label) + sum(one == other for one, other in pairwise(label))


def _ctc_targets(labels: Sequence[Label], longest: int) -> Targets:
    """Labels (N, longest) int32, padded with zeros, and their lengths (N,) int32."""
    return _padded(labels, longest), np.array([len(label) for label in labels], np.int32)


def _attention_targets(labels: Sequence[Label], longest: int) -> Targets:
    """(N, longest + 2) int32: BOS, the characters, EOS, padded with BOS."""
    first = len(SPECIAL_TOKENS)
    return (_padded([(BOS, *(number + first for number in label), EOS) for label in labels], longest + 2),)


def _multi_targets(labels: Sequence[Label], longest: int) -> Targets:
    """Those of CTC, and the tokens (N, longest + 2) int32 of the decoder: start, the characters, end, padding."""
    tokens = [(nrtr.START, *(number + nrtr.SPECIAL for number in label), nrtr.END) for label in labels]
    return (*_ctc_targets(labels, longest), _padded(tokens, longest + 2))


def _padded(labels: Sequence[Label], length: int) -> NDArray[np.int32]:
    padded = np.zeros((len(labels), length), np.int32)
    for row, label in zip(padded, labels, strict=True):
        row[: len(label)] = label
    return padded


def _ctc_loss(charset: Charset, tells_case: Sequence[bool] | None) -> nn.Cell:
    if tells_case is None:
        return CTCLoss(charset.blank)
    return CaselessCTCLoss(charset.blank, charset.other_case(), tells_case)


CTC = TextHead(
    postprocess="RecCTCLabelDecode",
    criterion="CTCLoss",
    classes=lambda charset: [*charset.characters, None],
    loss=_ctc_loss,
    min_length=_ctc_min_length,
    targets=_ctc_targets,
    decode=ctc_readings,
)
ATTENTION = TextHead(
    postprocess="RecAttnLabelDecode",
    criterion="AttentionLoss",
    classes=lambda charset: [*SPECIAL_TOKENS, *charset.characters],
    loss=lambda *_: AttentionLoss(),
    min_length=lambda _: 1,
    targets=_attention_targets,
    decode=attention_readings,
)
MULTI = replace(
    CTC, criterion="MultiLoss", loss=lambda charset, _: MultiLoss(charset.blank, nrtr.PADDING), targets=_multi_targets
)
HEADS: Mapping[str, TextHead] = {"CTCHead": CTC, "AttentionHead": ATTENTION, "MultiHead": MULTI}
"""By the name of the head in a configuration."""


def of(config: Config) -> TextHead:
    """The head of a configuration."""
    return HEADS[config["model"]["head"]["name"]]
