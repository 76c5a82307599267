"""Lines of rendered English, to see whether a recogniser still reads what its training does not show.

They need no file: words in three cases, numbers, amounts and signs, drawn in OpenCV's fonts. The same seed gives the
same lines everywhere.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import cv2
import numpy as np

from hccl_kit.ocr import drawing
from hccl_kit.ocr.data.samples import TextLine
from hccl_kit.ocr.data.synthetic import RENDERED, render

LONGEST = 18
"""Characters of a line: more would be squeezed in images of 48 x 320 pixels."""
SMALLEST, LARGEST = 0.2, 0.4
"""Shares of the size in which a line is drawn: it becomes 9 to 22 pixels high, as in photos and scans. Large ones show
less: all were still read right after a training that had lost the spaces of receipts.
"""
CASES = (str.lower, str.capitalize, str.upper)
SIGNS = ".,:!?%)"


def rendered_lines(count: int, *, seed: int) -> list[TextLine]:
    """So many lines. Their images are drawn when they are read."""
    return [_line(seed, number) for number in range(count)]


def _line(seed: int, number: int) -> TextLine:
    text = _text(np.random.default_rng((seed, number)))
    return TextLine(Path(RENDERED, f"{number}.png"), text=text, data=partial(_image, text, seed, number))


def _image(text: str, seed: int, number: int) -> bytes:
    """The encoded image of a line."""
    generator = np.random.default_rng((seed, number, 1))
    image, size = render.render(text, generator), generator.uniform(SMALLEST, LARGEST)
    small = cv2.resize(image, None, fx=size, fy=size, interpolation=cv2.INTER_AREA)
    return drawing.encoded(small.astype(np.uint8, copy=False))


def _text(generator: np.random.Generator) -> str:
    """One to three words or numbers with a blank between them, as many as fit."""
    text = _part(generator)
    for _ in range(generator.integers(3)):
        longer = f"{text} {_part(generator)}"
        text = longer if len(longer) <= LONGEST else text
    return text


def _part(generator: np.random.Generator) -> str:
    """A word in one of three cases, a whole number or an amount, one in five with a sign behind it."""
    kind = generator.integers(6)
    if kind < 4:
        word = str(generator.choice(render.REAL_WORDS))
        text = CASES[generator.integers(len(CASES))](word)
    else:
        number = int(generator.integers(10_000))
        text = str(number) if kind == 4 else f"{number / 100:.2f}"
    return text + (SIGNS[generator.integers(len(SIGNS))] if generator.integers(5) == 0 else "")
