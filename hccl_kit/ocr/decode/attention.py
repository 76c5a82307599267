"""What a network has spelt that ends its texts itself: the likeliest class of every step, up to the first stop."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hccl_kit.ocr.charset import SIGNS, STOP, Charset
from hccl_kit.ocr.decode.reading import Reading


def decode(probabilities: NDArray[np.float32], charset: Charset) -> list[Reading]:
    """Probabilities (N, steps, classes) to N readings; a text that never stops is none."""
    best, sure = probabilities.argmax(axis=2), probabilities.max(axis=2)
    return [_up_to_the_stop(classes, chances, charset) for classes, chances in zip(best, sure, strict=True)]


def _up_to_the_stop(classes: NDArray[np.intp], sure: NDArray[np.float32], charset: Charset) -> Reading:
    stops = np.flatnonzero(classes == STOP)
    length = int(stops[0]) if len(stops) else 0
    signs = (*SIGNS, *charset.characters)
    text = "".join(signs[number] for number in classes[:length])
    return Reading(text, float(sure[:length].mean()) if length else 0.0)
