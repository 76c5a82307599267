"""ShrinkBinaryMap: the kernels of the texts, the target of DBNet's probability map.

After Liao et al. 2019, "Real-time Scene Text Detection with Differentiable Binarization", 3.4; as in Wang et al. 2019
(PSENet), a polygon is shrunk by area * (1 - ratio^2) / perimeter.
"""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
from numpy.typing import NDArray

from hccl_kit.ocr.data.pages.pages import Page, Polygons
from hccl_kit.ocr.data.transforms import Transform, image_of
from hccl_kit.ocr.polygons import area_by_perimeter, offset


def shrink_binary_map(*, min_text_size: float = 8, shrink_ratio: float = 0.4) -> Transform[Page]:
    """Add two maps to a page: kernels (1, H, W) and mask (H, W). Regions too small to shrink become ignored."""

    def apply(page: Page, _: np.random.Generator) -> Page:
        height, width = image_of(page).shape[:2]
        kernels, mask, ignored = draw_kernels(
            page.polys, page.ignored, (height, width), min_text_size=min_text_size, shrink_ratio=shrink_ratio
        )
        return replace(page, maps=(*page.maps, kernels[None], mask), ignored=ignored)

    return apply


def draw_kernels(
    polys: Polygons, ignored: NDArray[np.bool_], size: tuple[int, int], *, min_text_size: float, shrink_ratio: float
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_]]:
    """Kernels (H, W), 1 inside; mask (H, W), 0 for pixels that the loss ignores; and the ignored regions (N,) bool.

    Regions become ignored if they are lower or narrower than `min_text_size` pixels, or vanish when they shrink.
    """
    kernels, mask = np.zeros(size, np.float32), np.ones(size, np.float32)
    extents = (polys.max(axis=1) - polys.min(axis=1)).min(axis=1)
    now_ignored = ignored | (extents < min_text_size)
    for number in range(len(polys)):
        poly = polys[number]
        distance = area_by_perimeter(poly) * (1 - shrink_ratio**2)
        pieces = [] if now_ignored[number] else offset(poly, -distance)
        if pieces:
            cv2.fillPoly(kernels, pieces, 1)
        else:
            now_ignored[number] = True
            cv2.fillPoly(mask, [poly.astype(np.int32)], 0)
    return kernels, mask, now_ignored
