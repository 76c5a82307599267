"""Greedy decoding of an attention head: the likeliest class of every time step, up to the first EOS."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hccl_kit.ocr.charset import EOS, SPECIAL_TOKENS, Charset
from hccl_kit.ocr.decode.reading import Reading


def decode(probabilities: NDArray[np.float32], charset: Charset) -> list[Reading]:
    """Probabilities (N, T, classes) to N readings; a sequence without EOS is an empty text."""
    classes, likelihoods = probabilities.argmax(axis=2), probabilities.max(axis=2)
    return [_up_to_eos(row, sure, charset) for row, sure in zip(classes, likelihoods, strict=True)]


def _up_to_eos(classes: NDArray[np.intp], likelihoods: NDArray[np.float32], charset: Charset) -> Reading:
    ends = np.flatnonzero(classes == EOS)
    length = int(ends[0]) if len(ends) else 0
    tokens = (*SPECIAL_TOKENS, *charset.characters)
    text = "".join(tokens[number] for number in classes[:length])
    return Reading(text, float(likelihoods[:length].mean()) if length else 0.0)
