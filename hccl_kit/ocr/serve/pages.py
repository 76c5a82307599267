"""The texts of pages as programs print and draw them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hccl_kit.base.atomic_file import write_atomically
from hccl_kit.ocr import drawing
from hccl_kit.ocr.data.samples import Sample
from hccl_kit.ocr.data.transforms import decode_image, image_of
from hccl_kit.ocr.decode.boxes import Box
from hccl_kit.ocr.decode.reading import Reading


@dataclass(frozen=True, slots=True)
class Region:
    """A text on a page: its box in pixels of the image, and its reading if a recogniser ran."""

    box: Box
    reading: Reading | None = None

    def row(self) -> dict[str, Any]:
        """`points` and `score`; with a reading, `transcription` and `confidence` too: the keys of det_gt.txt."""
        points = np.rint(self.box.points).astype(int).tolist()
        row = {"points": points, "score": rounded(self.box.score)}
        if self.reading is None:
            return row
        return {"transcription": self.reading.text, **row, "confidence": rounded(self.reading.confidence)}


@dataclass(frozen=True, slots=True)
class PageOfText:
    """A page and its texts from top to bottom, and an error if its image could not be used."""

    path: Path
    regions: tuple[Region, ...]
    error: str | None = None

    def fields(self) -> list[str]:
        """Path and the regions as JSON, in MindOCR's format; null after an error."""
        rows = None if self.error else [region.row() for region in self.regions]
        return [str(self.path), json.dumps(rows, ensure_ascii=False)]

    def row(self) -> dict[str, Any]:
        """The same for a JSON file, with the key `error` after an error."""
        if self.error:
            return {"path": str(self.path), "regions": None, "error": self.error}
        return {"path": str(self.path), "regions": [region.row() for region in self.regions]}


def decoded(path: Path) -> NDArray[np.uint8]:
    """The image HxWx3 of a file, BGR, upright by its EXIF data.

    Raises BadSampleError if it is not an image or too large.
    """
    return image_of(decode_image()(Sample(path), np.random.default_rng(0)))


def write_page(path: Path, page: PageOfText, image: NDArray[np.uint8]) -> None:
    """A picture of a page with its regions."""
    regions = [(region.box.points, region.reading.text if region.reading else "") for region in page.regions]
    write_atomically(path, drawing.encoded(drawing.draw_page(image, regions), path.suffix.lower()))


def rounded(share: float) -> float:
    """A score or confidence as it is written to files."""
    return round(share, 4)
