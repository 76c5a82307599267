"""Texts drawn with the user's fonts (TrueType and OpenType), by Pillow."""

from __future__ import annotations

import io
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

import numpy as np
from fontTools.ttLib import TTFont, TTLibError
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from hccl_kit.base.bounded_file import read_bounded
from hccl_kit.base.errors import KitError

SMALLEST, LARGEST = 24, 36
"""Font sizes in pixels."""
KEPT = 64
"""Maximum number of cached fonts; each has one size."""
MAX_BYTES = 1 << 28
"""Limit for a font file; collections of all CJK characters have half of it."""
MAX_PIXELS = 1 << 24
"""Limit for a drawn text; the glyphs of a damaged font may have any size."""


class Font:
    """A font file. Raises KitError if it is not a usable font."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            data = io.BytesIO(read_bounded(path, MAX_BYTES))
            with TTFont(data, fontNumber=0) as font:  # number 0: the first of a collection
                self._known = frozenset(font.getBestCmap() or ())
            _loaded(path, SMALLEST)
        except (KitError, OSError, TTLibError, AssertionError, KeyError, ValueError) as error:
            raise KitError(
                "ocr.fonts.not-usable-font",
                "{path} is not a usable font: {reason}",
                fix="accepted: .ttf, .otf, .ttc",
                path=path,
                reason=error,
            ) from error

    def lacks(self, text: str) -> str:
        """The characters of a text for which the font has no glyph."""
        return "".join(sorted({character for character in text if ord(character) not in self._known}))

    def coverage(self, text: str, size: int) -> NDArray[np.uint8]:
        """The coverage of each pixel (H, W), 0 to 255, of a text in a font size, without margin."""
        font = _loaded(self.path, size)
        left, top, right, bottom = map(int, font.getbbox(text))
        width, height = max(1, right - left), max(1, bottom - top)
        if width * height > MAX_PIXELS:
            raise KitError(
                "ocr.fonts.draws-x-pixels",
                "{path} draws {text!r} in {width} x {height} pixels; accepted: up to {max_pixels} in total",
                fix="draw shorter texts, or name another font",
                path=self.path,
                text=text[:40],
                width=width,
                height=height,
                max_pixels=MAX_PIXELS,
            )
        image = Image.new("L", (width, height))
        ImageDraw.Draw(image).text((-left, -top), text, fill=255, font=font)
        return np.asarray(image, np.uint8)


class Fonts:
    """Several fonts; a text is drawn by one that has all of its characters."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self.fonts = [Font(path) for path in paths]

    def assert_complete(self, texts: Iterable[str]) -> None:
        """Raises KitError if no font has all characters of a text."""
        for text in texts:
            if not self._able(text):
                lacking = {font.path.name: font.lacks(text)[:5] for font in self.fonts}
                reasons = ", ".join(f"{name} lacks {characters!r}" for name, characters in lacking.items())
                raise KitError(
                    "ocr.fonts.no-font-draws",
                    "no font draws {text!r}: {reasons}",
                    fix="name a font that has them with --font",
                    text=text[:40],
                    reasons=reasons,
                )

    def draw(self, text: str, generator: np.random.Generator) -> NDArray[np.uint8]:
        """The coverage of a text in a random font and size."""
        able = self._able(text)
        font = able[int(generator.integers(len(able)))]
        return font.coverage(text, int(generator.integers(SMALLEST, LARGEST + 1)))

    def _able(self, text: str) -> list[Font]:
        return [font for font in self.fonts if not font.lacks(text)]


@lru_cache(KEPT)
def _loaded(path: Path, size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(path, size)
