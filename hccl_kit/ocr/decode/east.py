"""From the maps of EAST to boxes: a rectangle at every text pixel, merged by locality-aware suppression.

After Zhou et al. 2017, "EAST: An Efficient and Accurate Scene Text Detector", 3.5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import shapely
from numpy.typing import NDArray

from hccl_kit.ocr.data.pages.pages import Shape
from hccl_kit.ocr.decode.boxes import Box, Decode, to_source

STRIDE = 4
"""Pixels of the image per pixel of the maps."""
MAX_PLACES = 20_000
"""Maximum number of text pixels of an image; those with the highest scores are used."""


@dataclass(frozen=True, slots=True)
class Sum:
    """Merged rectangles: the sum of their corners (4, 2) times their scores, the sum of the scores, and the count."""

    corners: NDArray[np.float64]
    weight: float
    count: int

    @property
    def quad(self) -> NDArray[np.float32]:
        """Their weighted mean."""
        return (self.corners / self.weight).astype(np.float32)


def east_postprocess(*, score_thresh: float = 0.8, nms_thresh: float = 0.2, box_type: str = "quad") -> Decode:
    """A decoder of score, four distances and angle (6, H/4, W/4) with MindOCR's options; `box_type` is always "quad".

    Rectangles of pixels with a score above `score_thresh` that overlap by an IoU above `nms_thresh` are one text:
    consecutive ones are averaged, and of the others the one with the greatest weight is kept.
    """
    assert box_type == "quad"

    def decode(maps: NDArray[np.float32], shape: Shape | None) -> list[Box]:
        quads, scores = rectangles(maps, score_thresh)
        texts = _distinct(_merged(quads, scores, nms_thresh), nms_thresh)
        return to_source([Box(text.quad, text.weight / text.count) for text in texts], shape)

    return decode


def rectangles(maps: NDArray[np.float32], score_thresh: float) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Corners (n, 4, 2) in pixels of the image and scores (n,), row by row; at most one corner is outside the image."""
    rows, columns = np.nonzero(maps[0] > score_thresh)
    if len(rows) > MAX_PLACES:
        surest = np.sort(np.argsort(-maps[0][rows, columns], kind="stable")[:MAX_PLACES])
        rows, columns = rows[surest], columns[surest]
    score, upper, lower, left, right, angle = maps[:, rows, columns]
    x = np.stack([-left, right, right, -left], axis=1)
    y = np.stack([-upper, -upper, lower, lower], axis=1)
    cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
    places = np.stack([columns, rows], axis=1)[:, None] * STRIDE
    quads = np.stack([x * cos + y * sin, y * cos - x * sin], axis=2) + places
    height, width = (side * STRIDE for side in maps.shape[1:])
    off = ((quads < 0) | (quads >= (width, height))).any(axis=2).sum(axis=1)
    return quads[off <= 1].astype(np.float32), score[off <= 1]


def _merged(quads: NDArray[np.float32], scores: NDArray[np.float32], nms_thresh: float) -> list[Sum]:
    """Rectangles in order, each averaged with the previous group if they overlap."""
    sums: list[Sum] = []
    for quad, score in zip(quads, scores.tolist(), strict=True):
        if sums and _iou(quad, sums[-1].quad[None])[0] > nms_thresh:
            last = sums[-1]
            sums[-1] = Sum(last.corners + score * quad, last.weight + score, last.count + 1)
        else:
            sums.append(Sum(score * quad.astype(np.float64), score, 1))
    return sums


def _distinct(sums: list[Sum], nms_thresh: float) -> list[Sum]:
    """Non-maximum suppression by weight."""
    ordered = sorted(sums, key=lambda group: -group.weight)
    quads = np.array([group.quad for group in ordered]).reshape(-1, 4, 2)
    lows, highs = quads.min(axis=1), quads.max(axis=1)
    left = np.ones(len(quads), bool)
    for number in range(len(quads)):
        if left[number]:
            near = left & (lows <= highs[number]).all(axis=1) & (highs >= lows[number]).all(axis=1)
            others = np.flatnonzero(near[number + 1 :]) + number + 1
            left[others] = _iou(quads[number], quads[others]) <= nms_thresh
    return [group for group, stays in zip(ordered, left, strict=True) if stays]


def _iou(quad: NDArray[np.float32], others: NDArray[np.float32]) -> NDArray[np.float64]:
    """IoU of one quadrilateral (4, 2) with each of others (n, 4, 2).

    By shapely: cv2.intersectConvexConvex finds no intersection of two that differ by less than a thousandth of a pixel.
    """
    shape, shapes = shapely.polygons(quad), shapely.polygons(others)
    both = np.zeros(len(shapes))
    valid = shapely.is_valid(shapes) & shapely.is_valid(shape)
    both[valid] = shapely.area(shapely.intersection(shape, shapes[valid]))
    either = shapely.area(shape) + shapely.area(shapes) - both
    return np.divide(both, either, out=np.zeros_like(both), where=either > 0)
