"""How a network spells: what its classes stand for, what it learns from, and how its outputs are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from mindspore import nn
from numpy.typing import NDArray

from hccl_kit.ocr.charset import GO, SIGNS, STOP, Charset
from hccl_kit.ocr.config import Config
from hccl_kit.ocr.data.loader import Targets
from hccl_kit.ocr.decode import attention, ctc
from hccl_kit.ocr.decode.reading import Reading
from hccl_kit.ocr.losses.attention import AttentionLoss
from hccl_kit.ocr.losses.ctc import CTCLoss

Label = tuple[int, ...]
"""The numbers of the characters in the dictionary."""


@dataclass(frozen=True, slots=True)
class Coding:
    """One way to spell; `postprocess` and `criterion` are its names in a configuration."""

    postprocess: str
    criterion: str
    signs: Callable[[Charset], list[str | None]]
    """What each class stands for; None: nothing."""
    loss: Callable[[Charset], nn.Cell]
    steps: Callable[[Label], int]
    """The least number of steps of the sequence that a label needs."""
    targets: Callable[[Sequence[Label], int], Targets]
    """What the loss takes, of labels of at most so many characters."""
    decode: Callable[[NDArray[np.float32], Charset], list[Reading]]


def _ctc_steps(label: Label) -> int:
    """One for every character and one between two that are equal; with fewer the loss is infinite."""
    return len(label) + sum(one == other for one, other in pairwise(label))


def _ctc_targets(labels: Sequence[Label], longest: int) -> Targets:
    """Labels (N, longest) int32, filled up with zeros, and their lengths (N,) int32."""
    return _filled_up(labels, longest), np.array([len(label) for label in labels], np.int32)


def _attention_targets(labels: Sequence[Label], longest: int) -> Targets:
    """(N, longest + 2) int32: a go, the characters, a stop, and again the go."""
    first = len(SIGNS)
    return (_filled_up([(GO, *(number + first for number in label), STOP) for label in labels], longest + 2),)


def _filled_up(labels: Sequence[Label], length: int) -> NDArray[np.int32]:
    filled = np.zeros((len(labels), length), np.int32)
    for row, label in zip(filled, labels, strict=True):
        row[: len(label)] = label
    return filled


CTC = Coding(
    postprocess="RecCTCLabelDecode",
    criterion="CTCLoss",
    signs=lambda charset: [*charset.characters, None],
    loss=lambda charset: CTCLoss(charset.blank),
    steps=_ctc_steps,
    targets=_ctc_targets,
    decode=ctc.decode,
)
ATTENTION = Coding(
    postprocess="RecAttnLabelDecode",
    criterion="AttentionLoss",
    signs=lambda charset: [*SIGNS, *charset.characters],
    loss=lambda _: AttentionLoss(),
    steps=lambda _: 1,
    targets=_attention_targets,
    decode=attention.decode,
)
CODINGS: Mapping[str, Coding] = {"CTCHead": CTC, "AttentionHead": ATTENTION}
"""By the name of the head."""


def of(config: Config) -> Coding:
    """The coding of the head of a configuration."""
    return CODINGS[config["model"]["head"]["name"]]
