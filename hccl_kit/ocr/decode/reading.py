"""The text that a network reads in the image of a line: greedily, by the likeliest class of every time step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hccl_kit.ocr.charset import EOS, SPECIAL_TOKENS, Charset


@dataclass(frozen=True, slots=True)
class Reading:
    """A text and its confidence: the mean probability of its characters, 0 for an empty text."""

    text: str
    confidence: float


def ctc_readings(probabilities: NDArray[np.float32], charset: Charset, *, blank_first: bool = False) -> list[Reading]:
    """Probabilities (N, T, classes) to N readings; the blank is the last class, or the first one."""
    best = probabilities.argmax(axis=2)
    likelihoods = np.take_along_axis(probabilities, best[..., None], axis=2)[..., 0]
    classes = (best - 1) % probabilities.shape[2] if blank_first else best
    return [_collapsed(row, sure, charset) for row, sure in zip(classes, likelihoods, strict=True)]


def attention_readings(probabilities: NDArray[np.float32], charset: Charset) -> list[Reading]:
    """Probabilities (N, T, classes) to N readings, each up to the first EOS, empty without one."""
    classes, likelihoods = probabilities.argmax(axis=2), probabilities.max(axis=2)
    return [_up_to_eos(row, sure, charset) for row, sure in zip(classes, likelihoods, strict=True)]


def _collapsed(classes: NDArray[np.intp], likelihoods: NDArray[np.float32], charset: Charset) -> Reading:
    """Equal neighbours count once, and blanks are left out."""
    starts = np.ones(len(classes), bool)
    starts[1:] = classes[1:] != classes[:-1]
    kept = starts & (classes != charset.blank)
    confidence = float(likelihoods[kept].mean()) if kept.any() else 0.0
    return Reading(charset.decode(classes[kept].tolist()), confidence)


def _up_to_eos(classes: NDArray[np.intp], likelihoods: NDArray[np.float32], charset: Charset) -> Reading:
    ends = np.flatnonzero(classes == EOS)
    length = int(ends[0]) if len(ends) else 0
    tokens = (*SPECIAL_TOKENS, *charset.characters)
    text = "".join(tokens[number] for number in classes[:length])
    return Reading(text, float(likelihoods[:length].mean()) if length else 0.0)
