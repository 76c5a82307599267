"""The steps of `transform_pipeline` for pages that are neither random nor targets, as MindOCR names them.

RandomRotate and its like are in `page_moves`, ShrinkBinaryMap and BorderMap in the modules of these names.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import cv2
import numpy as np
import shapely

from hccl_kit.errors import KitError
from hccl_kit.ocr.data.pages import Page, Shape, assert_drawable, pad_polygons
from hccl_kit.ocr.data.samples import BadSampleError
from hccl_kit.ocr.data.transforms import Transform, image_of

NO_LIMIT = (None, "None", "none")
"""What MindOCR's files write where no side is limited; to YAML, None is a text."""


def encode_label() -> Transform[Page]:
    """A page without a text region is a bad sample, and so is one with a polygon that lies off its image.

    Where label and image do not belong together, that is how it shows. A polygon that is partly off is kept.
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
                    f"polygon {number + 1} of {len(off)} lies off the image of {width} x {height}: {corners}"
                )
        return page

    return apply


def validate_polygons(*, min_area: float = 1.0) -> Transform[Page]:
    """What the image shows of each polygon; one that crosses itself or lies outside is left out.

    A cut polygon of which less than `min_area` pixels are left is ignored from now on; of one that falls apart the
    largest piece counts.
    """

    def apply(page: Page, _: np.random.Generator) -> Page:
        height, width = page.content or image_of(page).shape[:2]
        shapes = shapely.polygons(page.polys.astype(np.float64))
        valid = shapely.is_valid(shapes)
        inside = ((page.polys >= 0) & (page.polys < (width, height))).all(axis=(1, 2))
        seen = shapely.intersection(shapes, shapely.box(0, 0, width, height), where=valid & ~inside)
        rows, ignored, texts = [], [], []
        for number in np.flatnonzero(valid):
            row, ignore = page.polys[number], bool(page.ignored[number])
            if not inside[number]:
                piece = _largest(seen[number])
                if piece is None:
                    continue
                row = shapely.get_coordinates(piece.exterior)[:-1]
                ignore = ignore or piece.area < min_area
            rows.append(row)
            ignored.append(ignore)
            texts.append(page.texts[number])
        return replace(page, polys=pad_polygons(rows), ignored=np.array(ignored, bool), texts=tuple(texts))

    return apply


def _largest(shape: Any) -> Any:
    """The largest polygon of a shape; None where it has none. Two that only touch share a line or a point."""
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
    force_divisible: bool | None = None,  # noqa: ARG001  # so written in a file of MindOCR, which ignores it too
) -> Transform[Page]:
    """To `target_size` (height, width), or until the shorter or longer side keeps to `limit_side_len`.

    `target_size` wins over `limit_type`. `keep_ratio`: as large as fits into it, and with `padding` black fills the
    rest below and on the right. `limit_type` "min": the shorter side is at least so long; "max": the longer side at
    most; None: neither. `force_divisable`: sides are rounded to multiples of `divisor`, as a network with strides
    needs it. The page's `shape` leads back to the source.
    """
    if target_size is None and limit_type not in (*NO_LIMIT, "min", "max"):
        raise KitError(f"DetResize: limit_type is {limit_type!r}; accepted: min, max, None")
    unit = divisor if force_divisable else 1
    target = (_divisible(target_size[0], unit), _divisible(target_size[1], unit)) if target_size else None
    canvas = target if keep_ratio and padding else None

    def apply(page: Page, _: np.random.Generator) -> Page:
        height, width = image_of(page).shape[:2]
        if target is None:
            ratio = _limit_ratio(height, width, limit_type, limit_side_len)
            size = math.ceil(height * ratio), math.ceil(width * ratio)
        else:
            size = _within(height, width, target) if keep_ratio else target
        if canvas is None:
            size = _divisible(size[0], unit), _divisible(size[1], unit)
        return _resized(page, size, canvas)

    return apply


def scale_pad(*, target_size: Sequence[int]) -> Transform[Page]:
    """As large as fits into `target_size`, black fills the rest (MindOCR's ScalePadImage)."""
    return resize(target_size=target_size, padding=True, force_divisable=False)


def grid_resize(*, factor: int = 32) -> Transform[Page]:
    """Each side to the nearest multiple of `factor` (MindOCR's GridResize)."""
    return resize(limit_type=None, divisor=factor)


def _resized(page: Page, size: tuple[int, int], canvas: tuple[int, int] | None) -> Page:
    """The page at another size, on a black canvas that is at least so large."""
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


def _within(height: int, width: int, target: tuple[int, int]) -> tuple[int, int]:
    """As large as fits into the target, in the same ratio."""
    ratio = min(target[0] / height, target[1] / width)
    return min(math.ceil(height * ratio), target[0]), min(math.ceil(width * ratio), target[1])


def _limit_ratio(height: int, width: int, limit_type: str | None, side: int) -> float:
    """What an image is scaled by so that its sides keep to the limit."""
    if limit_type == "min":
        return max(1.0, side / min(height, width))
    if limit_type == "max":
        return min(1.0, side / max(height, width))
    return 1.0


def _divisible(side: int, unit: int) -> int:
    return max(round(side / unit), 1) * unit
