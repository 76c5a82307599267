"""Rendered images: words, so that a first training needs no download, and lines that show what a recogniser forgets.

Texts are drawn in OpenCV's built-in Hershey fonts or by a function of the caller; size, tilt, colours, blur and noise
are random. The lines need no file: words in three cases, numbers, amounts and signs, the same for the same seed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.ocr import drawing
from hccl_kit.ocr.charset import ALPHANUMERIC
from hccl_kit.ocr.data.samples import TextLine
from hccl_kit.ocr.data.synthetic import RENDERED

FONTS = (cv2.FONT_HERSHEY_SIMPLEX, cv2.FONT_HERSHEY_DUPLEX, cv2.FONT_HERSHEY_COMPLEX, cv2.FONT_HERSHEY_TRIPLEX)
REAL_WORDS = tuple(
    """
    ascend atlas server rank table device group link fabric plane bandwidth reduce gather scatter broadcast
    barrier gradient momentum learning epoch batch sample weight bias layer network vision image text word
    letter number street market bridge river mountain forest island harbour station airport museum theatre
    library school hospital coffee orange pepper butter cheese breakfast dinner kitchen window garden summer
    winter spring autumn morning evening thunder lightning silver copper golden yellow purple crimson quick
    brown jumps lazy zebra quartz sphinx 910a 910b 8p 4p 2026 1024 4567 60000 port22 room101 gate7 line12 bus66
    """.split()  # noqa: SIM905  # ninety words are easier to read as text than as a column
)
"""Test words; the training strings are random and never one of these."""

SHORTEST, LONGEST = 2, 9
MOST_PIXELS = 32_000
"""Largest side of a text: OpenCV tilts images of less than 32,767 pixels, and there is a margin around it."""


def random_text(generator: np.random.Generator, characters: str = ALPHANUMERIC) -> str:
    """A random string of 2 to 9 of the characters that is not in REAL_WORDS."""
    while True:
        length = generator.integers(SHORTEST, LONGEST + 1)
        text = "".join(characters[n] for n in generator.integers(0, len(characters), length))
        if text not in REAL_WORDS:  # such as "8p"
            return text


Draw = Callable[[str, np.random.Generator], NDArray[np.uint8]]
"""From a text to the coverage of each pixel (H, W), 0 to 255, without margin."""


def strokes(text: str, generator: np.random.Generator) -> NDArray[np.uint8]:
    """The text in one of OpenCV's fonts, which have ASCII characters only."""
    font = FONTS[generator.integers(len(FONTS))]
    scale, thickness = generator.uniform(0.9, 1.3), int(generator.integers(1, 3))
    (width, height), baseline = cv2.getTextSize(text, font, scale, thickness)
    coverage = np.zeros((height + baseline, width), np.uint8)
    cv2.putText(coverage, text, (0, height), font, scale, (255,), thickness, cv2.LINE_AA)
    return coverage


def render(text: str, generator: np.random.Generator, draw: Draw = strokes) -> NDArray[np.uint8]:
    """`text` as an image HxWx3 uint8, about 40 pixels high. Raises KitError if it is too long to be drawn."""
    coverage = draw(text, generator)
    if max(coverage.shape) > MOST_PIXELS:
        height, width = coverage.shape
        raise KitError(
            "ocr.render.so-characters-would",
            "{text!r} and so on, {count} characters, would be drawn in {width} x {height} pixels; "
            "accepted: up to {most_pixels} on each side",
            fix="draw shorter texts",
            text=text[:40],
            count=len(text),
            width=width,
            height=height,
            most_pixels=MOST_PIXELS,
        )
    left, top = map(int, generator.integers(4, 12, 2))
    share = cv2.copyMakeBorder(coverage, top, top, left, left, cv2.BORDER_CONSTANT)[..., None] / 255
    paper, ink = _colours(generator)
    image = np.rint(np.array(paper) * (1 - share) + np.array(ink) * share).astype(np.uint8)
    image = _tilt(image, generator.uniform(-4, 4), generator.uniform(-0.15, 0.15), paper)
    if generator.random() < 0.5:
        image = cv2.GaussianBlur(image, (3, 3), 0)
    noise = generator.normal(0, generator.uniform(2, 12), image.shape)
    return np.clip(image + noise, 0, 255).astype(np.uint8)


def _colours(generator: np.random.Generator) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Colours of background and text, dark on light or light on dark, with enough contrast."""
    light, dark = generator.integers(150, 256, 3), generator.integers(0, 90, 3)
    pair = (light, dark) if generator.random() < 0.7 else (dark, light)
    return tuple(map(int, pair[0])), tuple(map(int, pair[1]))


def _tilt(image: NDArray[Any], degrees: float, shear: float, paper: tuple[int, ...]) -> NDArray[Any]:
    height, width = image.shape[:2]
    matrix = cv2.getRotationMatrix2D((width / 2, height / 2), degrees, 1.0)
    matrix[0, 1] += shear
    matrix[0, 2] -= shear * height / 2
    return cv2.warpAffine(image, matrix, (width, height), borderValue=paper)


LONGEST_LINE = 18
"""Characters of a line: more would be squeezed in images of 48 x 320 pixels."""
LEAST_SHARE, MOST_SHARE = 0.2, 0.4
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
    image, size = render(text, generator), generator.uniform(LEAST_SHARE, MOST_SHARE)
    small = cv2.resize(image, None, fx=size, fy=size, interpolation=cv2.INTER_AREA)
    return drawing.encoded(small.astype(np.uint8, copy=False))


def _text(generator: np.random.Generator) -> str:
    """One to three words or numbers with a blank between them, as many as fit."""
    text = _part(generator)
    for _ in range(generator.integers(3)):
        longer = f"{text} {_part(generator)}"
        text = longer if len(longer) <= LONGEST_LINE else text
    return text


def _part(generator: np.random.Generator) -> str:
    """A word in one of three cases, a whole number or an amount, one in five with a sign behind it."""
    kind = generator.integers(6)
    if kind < 4:
        word = str(generator.choice(REAL_WORDS))
        text = CASES[generator.integers(len(CASES))](word)
    else:
        number = int(generator.integers(10_000))
        text = str(number) if kind == 4 else f"{number / 100:.2f}"
    return text + (SIGNS[generator.integers(len(SIGNS))] if generator.integers(5) == 0 else "")
