"""The targets of DBNet and PSENet: ShrinkBinaryMap, BorderMap and PSEGtDecode.

DBNet has the kernels of texts, and the distance of each pixel to an edge (Liao et al. 2019, "Real-time Scene Text
Detection with Differentiable Binarization", 3.4); PSENet texts and their kernels of decreasing size (Wang et al. 2019,
"Shape Robust Text Detection with Progressive Scale Expansion Network", 3.3). In both a polygon is shrunk by
area * (1 - ratio^2) / perimeter.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data.pages.pages import Page, Polygons
from hccl_kit.ocr.data.pages.views import Moves, View, enlarged
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


MAX_SIDE = 8192
"""Largest side of a polygon, in pixels, for which `fast` applies: its canvas is as large as the polygon."""


def border_map(
    *, shrink_ratio: float = 0.4, thresh_min: float = 0.3, thresh_max: float = 0.7, fast: bool = False
) -> Transform[Page]:
    """Add two maps (H, W) to a page: thresholds, from `thresh_max` on an edge to `thresh_min` far away, and mask.

    `fast` uses `steps_from_edges`, whose time does not depend on the number of corners. Raises KitError if `thresh_min`
    is not below `thresh_max`.
    """
    if thresh_min >= thresh_max:
        raise KitError(
            "ocr.border-map.bordermap-thresh-min",
            "BorderMap: thresh_min {thresh_min} is not below thresh_max {thresh_max}",
            thresh_min=thresh_min,
            thresh_max=thresh_max,
        )

    def apply(page: Page, _: np.random.Generator) -> Page:
        height, width = image_of(page).shape[:2]
        nearness, mask = draw_borders(page.polys[~page.ignored], (height, width), shrink_ratio=shrink_ratio, fast=fast)
        thresholds = nearness * np.float32(thresh_max - thresh_min) + np.float32(thresh_min)
        return replace(page, maps=(*page.maps, thresholds, mask))

    return apply


def draw_borders(
    polys: Polygons, size: tuple[int, int], *, shrink_ratio: float, fast: bool = False
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Nearness (H, W), 1 on an edge and 0 from `distance` pixels on; mask (H, W), 1 in polygons expanded by `distance`.

    `distance` of a polygon is area * (1 - `shrink_ratio`^2) / perimeter.
    """
    nearness, mask = np.zeros(size, np.float32), np.zeros(size, np.float32)
    for poly in polys:
        distance = area_by_perimeter(poly) * (1 - shrink_ratio**2)
        for piece in offset(poly, distance):
            cv2.fillPoly(mask, [piece], 1)
            left, top = np.maximum(piece.min(axis=0), 0)
            right, bottom = np.minimum(piece.max(axis=0) + 1, size[::-1])
            if left < right and top < bottom:
                near_edges = steps_from_edges if fast and np.ptp(piece, axis=0).max() <= MAX_SIDE else _by_distance
                part = nearness[top:bottom, left:right]
                np.maximum(part, near_edges(poly - (left, top), (bottom - top, right - left), distance), out=part)
    return nearness, mask


def _by_distance(poly: NDArray[Any], size: tuple[int, int], limit: float) -> NDArray[np.float32]:
    """Nearness by the distance to the edges: 1 on an edge, 0 from `limit` pixels on."""
    return 1 - edge_distances(poly, size, limit=limit) / np.float32(limit)


def steps_from_edges(poly: NDArray[Any], size: tuple[int, int], limit: float) -> NDArray[np.float32]:
    """Nearness by the chessboard distance within a band drawn along the edges.

    The band is drawn as a whole, beyond the image too: OpenCV rounds a clipped band differently.
    """
    width, room = max(round(2 * limit) - 1, 1), round(limit) + 2
    corners = np.rint(poly).astype(np.int32)
    left, top = (corners.min(axis=0) - room).tolist()
    right, bottom = (corners.max(axis=0) + room + 1).tolist()
    canvas = np.zeros((bottom - top, right - left), np.uint8)
    cv2.polylines(canvas, [corners - (left, top)], True, 1, width)
    depth = np.clip(cv2.distanceTransform(canvas, cv2.DIST_C, 3) / np.float32(max(width // 2, 1)), 0, 1)
    near = np.zeros(size, np.float32)
    rows, columns = slice(max(top, 0), max(bottom, 0)), slice(max(left, 0), max(right, 0))
    part = near[rows, columns]
    part[:] = depth[rows.start - top :, columns.start - left :][: part.shape[0], : part.shape[1]]
    return near


def edge_distances(poly: NDArray[Any], size: tuple[int, int], *, limit: float) -> NDArray[np.float32]:
    """The distance of each pixel (H, W) to the edges of a polygon (n, 2), in pixels; at most `limit`.

    Inside the circle over an edge it is the distance to the edge's line, elsewhere to the nearest corner: not exactly
    the distance to the edge, but the definition of the reference implementations. Only pixels within the limit are
    computed, in a fraction of the time that whole maps for every edge would take.
    """
    corners = [(x, y) for x, y in poly.tolist()]
    rows, columns = np.arange(size[0], dtype=np.float32)[:, None], np.arange(size[1], dtype=np.float32)
    squares = np.full(size, limit**2, np.float32)
    for (x, y), (x2, y2) in zip(corners, [*corners[1:], corners[0]], strict=True):
        height, width = _span(y, y, limit), _span(x, x, limit)
        part = squares[height, width]
        np.minimum(part, (columns[width] - x) ** 2 + (rows[height] - y) ** 2, out=part)
        if (x, y) == (x2, y2):
            continue
        height, width = _span(y, y2, limit), _span(x, x2, limit)
        part, right, down = squares[height, width], columns[width] - x, rows[height] - y
        length = math.hypot(x2 - x, y2 - y)
        line = (right * ((y2 - y) / length) - down * ((x2 - x) / length)) ** 2
        # The scalar product of the vectors to both ends is not negative; exact for integers.
        acute = right * (columns[width] - x2) >= down * (y2 - rows[height])
        np.putmask(line, acute, limit**2)
        np.minimum(part, line, out=part)
    return np.sqrt(squares, out=squares)


def _span(one: float, other: float, limit: float) -> slice:
    """The pixels between two coordinates and up to `limit` beyond them."""
    low, high = (one, other) if one < other else (other, one)
    return slice(max(math.ceil(low - limit), 0), max(math.floor(high + limit) + 1, 0))


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
        maps = draw_kernels_of_pse(page.polys, page.ignored, (height, width), rates(kernel_num, min_shrink_ratio))
        return replace(page, maps=(*page.maps, *maps))

    return Moves((grow,), draws=(draw,))


def rates(kernel_num: int, min_shrink_ratio: float) -> list[float]:
    """The ratio of every kernel, from large to small."""
    return [1 - (1 - min_shrink_ratio) * number / (kernel_num - 1) for number in range(1, kernel_num)]


def draw_kernels_of_pse(
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
