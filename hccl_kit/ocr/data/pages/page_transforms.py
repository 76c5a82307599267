"""The deterministic transforms of pages, with MindOCR's names and options.

Random geometric transforms are in `page_moves`, targets in `db_maps`, `pse_maps` and `east_maps`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import cv2
import numpy as np
import shapely

from hccl_kit.ocr.data.pages.pages import Page, Shape, assert_drawable, pad_polygons
from hccl_kit.ocr.data.samples import BadSampleError
from hccl_kit.ocr.data.transforms import Transform, image_of

NO_LIMIT = (None, "None", "none")
"""Values of `limit_type` in MindOCR's files for no limit; YAML reads None as a string."""
GRID = 32
"""MindOCR's DetResize rounds sides to multiples of this if it keeps the ratio, whatever its `divisor` is."""


def encode_label() -> Transform[Page]:
    """A page without regions, or with a polygon completely outside its image, is a bad sample.

    The latter happens if label and image do not belong together. A polygon that is partly outside is kept.
    """

    def apply(page: Page, _: np.random.Generator) -> Page:
        if not len(page.polys):
            raise BadSampleError("the page has no text region")
        if page.image is not None:
            height, width = page.image.shape[:2]
            lows, highs = page.polys.min(axis=1), page.polys.max(axis=1)
            off = ((highs < 0) | (lows > (width, height))).any(axis=1)
            if off.any():
                number = int(off.argmax())
                corners = page.polys[number].round(1).tolist()
                raise BadSampleError(
                    f"polygon {number + 1} of {len(off)} lies outside the image of {width} x {height}: {corners}"
                )
        return page

    return apply


def validate_polygons(
    *, min_area: float = 1.0, clip_to_visible_area: bool = False, min_vertices: int = 4
) -> Transform[Page]:
    """Drop polygons that are outside the image or cross themselves, and ignore those with too little visible area.

    A region with less than `min_area` visible pixels is ignored. `clip_to_visible_area` clips a polygon to the image,
    to its largest piece if it splits; one with fewer than `min_vertices` corners is then ignored too.
    """

    def apply(page: Page, _: np.random.Generator) -> Page:
        height, width = page.content or image_of(page).shape[:2]
        shapes, frame = shapely.polygons(page.polys.astype(np.float64)), shapely.box(0, 0, width, height)
        inside = ((page.polys >= 0) & (page.polys < (width, height))).all(axis=(1, 2))
        rows, ignored, texts = [], [], []
        for number in np.flatnonzero(shapely.is_valid(shapes) & shapely.intersects(shapes, frame)):
            row, shape = page.polys[number], shapes[number]
            seen = shape if inside[number] else shapely.intersection(shape, frame)
            ignore = bool(page.ignored[number]) or seen.area < min_area
            if clip_to_visible_area:
                piece = _largest(seen)
                if piece is None:  # it only touches the image
                    continue
                row = row if inside[number] else shapely.get_coordinates(piece.exterior)[:-1]
                ignore = ignore or len(np.unique(row, axis=0)) < min_vertices
            rows.append(row)
            ignored.append(ignore)
            texts.append(page.texts[number])
        return replace(page, polys=pad_polygons(rows), ignored=np.array(ignored, bool), texts=tuple(texts))

    return apply


def _largest(shape: Any) -> Any:
    """The largest polygon of a shape; None if there is none, as two that only touch share a line or a point."""
    polygons = [part for part in shapely.get_parts(shape) if part.geom_type == "Polygon" and not part.is_empty]
    return max(polygons, key=shapely.area, default=None)


def resize(
    *,
    target_size: Sequence[int] | None = None,
    keep_ratio: bool = True,
    padding: bool = False,
    limit_type: str | None = "min",
    limit_side_len: int = 736,
    force_divisable: bool = True,
    divisor: int = 32,
    force_divisible: bool | None = None,  # noqa: ARG001  # a misspelling in a file of MindOCR, which ignores it too
) -> Transform[Page]:
    """Resize to `target_size` (height, width), or so that the shorter or longer side keeps to `limit_side_len`.

    `target_size` has priority over `limit_type`. `keep_ratio`: as large as fits into it, with `padding` black below and
    on the right. `limit_type` "min": the shorter side has at least this length; "max": the longer side at most; None:
    no limit. Sides that are scaled with their ratio are first rounded to multiples of 32, as in MindOCR, whatever the
    other options are, and also before padding. `force_divisable`: the target is rounded to multiples of `divisor`, and
    so are, upwards, sides that are not padded. The page's `shape` leads back to the source.
    """
    unit = divisor if force_divisable else 1
    target = target_of(target_size, force_divisable=force_divisable, divisor=divisor) if target_size else None
    canvas = target if keep_ratio and padding else None

    def apply(page: Page, _: np.random.Generator) -> Page:
        height, width = image_of(page).shape[:2]
        if target is None:
            ratio = _limit_ratio(height, width, limit_type, limit_side_len)
            size = (height, width) if limit_type in NO_LIMIT else _scaled(height, width, ratio)
        elif keep_ratio:
            inner = _scaled(height, width, min(target[0] / height, target[1] / width))
            size = min(inner[0], target[0]), min(inner[1], target[1])
        else:
            size = target
        if canvas is None:
            size = math.ceil(size[0] / unit) * unit, math.ceil(size[1] / unit) * unit
        return _resized(page, size, canvas)

    return apply


def target_of(
    target_size: Sequence[int], *, force_divisable: bool = True, divisor: int = 32, **_: object
) -> tuple[int, int]:
    """The rounded `target_size` of `resize` with these options."""
    unit = divisor if force_divisable else 1
    return _nearest(target_size[0], unit), _nearest(target_size[1], unit)


def scale_pad(*, target_size: Sequence[int]) -> Transform[Page]:
    """Resize to fit into `target_size` with the exact ratio, padded with black (ScalePadImage)."""
    canvas = (target_size[0], target_size[1])

    def apply(page: Page, _: np.random.Generator) -> Page:
        height, width = image_of(page).shape[:2]
        ratio = min(canvas[0] / height, canvas[1] / width)
        size = min(math.ceil(height * ratio), canvas[0]), min(math.ceil(width * ratio), canvas[1])
        return _resized(page, size, canvas)

    return apply


def grid_resize(*, factor: int = 32) -> Transform[Page]:
    """Round each side up to a multiple of `factor` (GridResize)."""
    return resize(limit_type=None, divisor=factor)


def _resized(page: Page, size: tuple[int, int], canvas: tuple[int, int] | None) -> Page:
    """The page at another size, on a black canvas if one is given."""
    image = image_of(page)
    height, width = image.shape[:2]
    assert_drawable(*size)
    image = cv2.resize(image, (size[1], size[0]))
    if canvas:
        below, right = canvas[0] - size[0], canvas[1] - size[1]
        image = cv2.copyMakeBorder(image, 0, below, 0, right, cv2.BORDER_CONSTANT, value=(0, 0, 0))
    y, x = size[0] / height, size[1] / width
    before = page.shape or Shape(height, width, 1, 1)
    shape = before._replace(scale_h=before.scale_h * y, scale_w=before.scale_w * x)
    polys = (page.polys * np.array([x, y])).astype(np.float32)
    return replace(page, image=image, polys=polys, shape=shape, content=size if canvas else None)


def _scaled(height: int, width: int, ratio: float) -> tuple[int, int]:
    """The sides times a ratio, truncated to whole pixels and then rounded to multiples of 32, as in MindOCR."""
    return _nearest(int(height * ratio), GRID), _nearest(int(width * ratio), GRID)


def _limit_ratio(height: int, width: int, limit_type: str | None, side: int) -> float:
    """The scale by which the sides of an image keep to the limit."""
    if limit_type == "min":
        return max(1.0, side / min(height, width))
    if limit_type == "max":
        return min(1.0, side / max(height, width))
    return 1.0


def _nearest(side: int, unit: int) -> int:
    """The nearest positive multiple of `unit`; ties go to the even multiple."""
    return max(round(side / unit), 1) * unit
