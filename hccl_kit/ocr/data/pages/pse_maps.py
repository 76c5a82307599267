"""PSEGtDecode: texts and their kernels of decreasing size, the targets of PSENet.

After Wang et al. 2019, "Shape Robust Text Detection with Progressive Scale Expansion Network", 3.3.
"""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
from numpy.typing import NDArray

from hccl_kit.ocr.data.pages.pages import Page, Polygons
from hccl_kit.ocr.data.pages.views import Moves, View, enlarged
from hccl_kit.ocr.data.transforms import Transform, image_of
from hccl_kit.ocr.polygons import area_by_perimeter, offset

FARTHEST = 20
"""Largest inward shift of an edge, in pixels."""


def pse_gt_decode(
    *, kernel_num: int = 7, min_shrink_ratio: float = 0.4, min_shortest_edge: int = 640
) -> Transform[Page]:
    """Enlarge a page to a shorter side of at least `min_shortest_edge` pixels, and add three maps.

    Texts (H, W), kernels (`kernel_num` - 1, H, W) from large to small, and mask (H, W), 0 for pixels that the loss
    ignores. The maps are drawn after the geometric transforms that follow.
    """

    def grow(view: View, _: np.random.Generator) -> View:
        return enlarged(view, min_shortest_edge)

    def draw(page: Page, _: np.random.Generator) -> Page:
        height, width = image_of(page).shape[:2]
        maps = draw_kernels(page.polys, page.ignored, (height, width), rates(kernel_num, min_shrink_ratio))
        return replace(page, maps=(*page.maps, *maps))

    return Moves((grow,), draws=(draw,))


def rates(kernel_num: int, min_shrink_ratio: float) -> list[float]:
    """The ratio of every kernel, from large to small."""
    return [1 - (1 - min_shrink_ratio) * number / (kernel_num - 1) for number in range(1, kernel_num)]


def draw_kernels(
    polys: Polygons, ignored: NDArray[np.bool_], size: tuple[int, int], ratios: list[float]
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """Texts (H, W), a kernel for each ratio (n, H, W), 1 inside, and mask (H, W), 0 in what is ignored.

    A kernel is its text shrunk by area * (1 - ratio^2) / perimeter, at most FARTHEST; if it vanishes, the whole text is
    drawn.
    """
    texts, mask = np.zeros(size, np.float32), np.ones(size, np.float32)
    kernels = np.zeros((len(ratios), *size), np.float32)
    seen = (polys.max(axis=1) >= 0).all(axis=1) & (polys.min(axis=1) < size[::-1]).all(axis=1)
    for number in np.flatnonzero(seen):
        poly = polys[number].astype(np.int32)
        cv2.fillPoly(texts, [poly], 1)
        if ignored[number]:
            cv2.fillPoly(mask, [poly], 0)
        reach = area_by_perimeter(poly, over=0.001)
        for kernel, ratio in zip(kernels, ratios, strict=True):
            distance = min(int(reach * (1 - ratio**2) + 0.5), FARTHEST)
            cv2.fillPoly(kernel, offset(poly, -distance) or [poly], 1)
    return texts, kernels, mask
