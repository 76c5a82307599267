"""Best path decoding of CTC outputs: the likeliest class of every time step, repeats collapsed, blanks dropped."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hccl_kit.ocr.charset import Charset
from hccl_kit.ocr.decode.reading import Reading


def decode(probabilities: NDArray[np.float32], charset: Charset, *, blank_first: bool = False) -> list[Reading]:
    """Probabilities (N, T, classes) to N readings; the blank is the last class, or the first one."""
    best = probabilities.argmax(axis=2)
    likelihoods = np.take_along_axis(probabilities, best[..., None], axis=2)[..., 0]
    classes = (best - 1) % probabilities.shape[2] if blank_first else best
    return [_collapse(row, sure, charset) for row, sure in zip(classes, likelihoods, strict=True)]


def _collapse(classes: NDArray[np.intp], likelihoods: NDArray[np.float32], charset: Charset) -> Reading:
    starts = np.ones(len(classes), bool)
    starts[1:] = classes[1:] != classes[:-1]
    kept = starts & (classes != charset.blank)
    confidence = float(likelihoods[kept].mean()) if kept.any() else 0.0
    return Reading(charset.decode(classes[kept].tolist()), confidence)
