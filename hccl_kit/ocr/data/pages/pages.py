"""Pages: images with the regions of their texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hccl_kit.ocr.data.samples import MAX_COORDINATE, MAX_CORNERS, MAX_REGIONS, BadSampleError, Sample

Polygons = NDArray[np.float32]
"""Shape (N, P, 2): x and y of the corners in pixels; a polygon with fewer corners repeats its last one."""

UNREADABLE = frozenset({"*", "###"})
"""Transcriptions of illegible texts: their regions are ignored by loss and metric."""
MAX_PIXELS = 1 << 26
"""Limit for an image that a transform enlarges: 200 MB, and 800 MB as float32."""
Region = tuple[str, Sequence[Sequence[float]]]
"""A text and the corners (x, y) of its polygon."""


class Shape(NamedTuple):
    """From a resized image back to its source, as MindOCR's `shape_list`: source * scale = image."""

    src_h: float
    src_w: float
    scale_h: float
    scale_w: float


@dataclass(frozen=True, slots=True)
class Page(Sample):
    """An image with any number of texts.

    `polys` (N, P, 2) float32 are in pixels of `image` and are transformed with it; `texts` and `ignored` (N,) bool
    belong to them. `shape` leads from the image back to its source; None if it was not resized. `content` is the height
    and width of the unpadded part of the image; None: all of it. `maps` are the targets of a loss, in its order, each
    float32.
    """

    polys: Polygons = field(default_factory=lambda: pad_polygons([]))
    texts: tuple[str, ...] = ()
    ignored: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, bool))
    shape: Shape | None = None
    content: tuple[int, int] | None = None
    maps: tuple[NDArray[Any], ...] = ()

    def reduced(self, factor: int) -> Page:
        """The page after its image was decoded at 1/factor of its size."""
        assert self.image is not None
        height, width = self.image.shape[:2]
        shape = Shape(height * factor, width * factor, 1 / factor, 1 / factor)
        return replace(self, polys=self.polys / np.float32(factor), shape=shape)

    @property
    def source_polys(self) -> Polygons:
        """The polygons in pixels of the source, in which detections are scored."""
        if self.shape is None:
            return self.polys
        return (self.polys / np.array([self.shape.scale_w, self.shape.scale_h])).astype(np.float32)


def checked_page(path: Path, regions: Sequence[Region]) -> Page:
    """The page of these regions. Raises BadSampleError if their number or size exceeds the limits."""
    if len(regions) > MAX_REGIONS:
        raise BadSampleError(f"{len(regions)} text regions; accepted: up to {MAX_REGIONS}")
    for number, (_, corners) in enumerate(regions, 1):
        if len(corners) > MAX_CORNERS:
            raise BadSampleError(f"region {number} has {len(corners)} corners; accepted: up to {MAX_CORNERS}")
        if not all(abs(value) <= MAX_COORDINATE for corner in corners for value in corner):
            raise BadSampleError(f"region {number} has coordinates beyond {MAX_COORDINATE}: {str(corners)[:60]}")
    texts = tuple(text for text, _ in regions)
    return Page(
        path,
        polys=pad_polygons([np.array(corners, float) for _, corners in regions]),
        texts=texts,
        ignored=unreadable(texts),
    )


def pad_polygons(polys: Iterable[Sequence[Any] | NDArray[Any]]) -> Polygons:
    """Polygons (n, 2) of any length as one array (N, P, 2) float32; shorter ones repeat their last corner."""
    rows = [np.asarray(poly, np.float32) for poly in polys]
    longest = max(map(len, rows), default=4)
    padded = np.empty((len(rows), longest, 2), np.float32)
    for target, row in zip(padded, rows, strict=True):
        target[: len(row)] = row
        target[len(row) :] = row[-1]
    return padded


def unreadable(texts: Iterable[str]) -> NDArray[np.bool_]:
    """Which texts are marks for illegible ones (N,)."""
    return np.array([text in UNREADABLE for text in texts], bool)


def assert_drawable(height: int, width: int) -> None:
    """Raises BadSampleError if an image would become too large, as an enlarged thin strip may."""
    if height * width > MAX_PIXELS:
        raise BadSampleError(f"it would become {width} x {height} pixels; accepted: up to {MAX_PIXELS} in total")
