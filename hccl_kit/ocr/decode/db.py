"""From the probability map of DBNet to boxes: contours above a threshold, expanded.

After Liao et al. 2019, "Real-time Scene Text Detection with Differentiable Binarization", 3.5, as in MindOCR.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from hccl_kit.ocr.data.pages.pages import Shape
from hccl_kit.ocr.decode.boxes import Box, Decode, to_source
from hccl_kit.ocr.polygons import area_by_perimeter, clockwise, offset

MIN_CONTOUR, MIN_BOX = 3, 5
"""Shorter side, in pixels, below which a kernel or a text is noise."""
SMOOTH = 0.005
"""Largest deviation of a polygon from its contour, as a share of the contour's length."""
SQUARE = np.ones((2, 2), np.uint8)


def db_postprocess(
    *,
    box_type: str = "quad",
    binary_thresh: float = 0.3,
    box_thresh: float = 0.7,
    max_candidates: int = 1000,
    expand_ratio: float = 1.5,
    score_mode: str = "rectangle",
    dilate: bool = False,
) -> Decode:
    """A decoder with MindOCR's options.

    `box_type` "quad": rotated rectangles, clockwise from the upper left corner; "polygon" or "poly": polygons. Pixels
    from `binary_thresh` on are text. Of the first `max_candidates` contours those with a mean probability of at least
    `box_thresh` are kept. `score_mode` "rectangle" takes the mean over all text pixels in the bounding box of the
    contour, as in MindOCR; "contour" over the pixels inside the contour, as in the paper; "box" over those inside its
    minimum-area rectangle, as in PaddleOCR. A contour is expanded by area * `expand_ratio` / perimeter. With `dilate` a
    pixel is text too if the pixel to its left, above it, or diagonally above left is: this joins parts that one pixel
    separates.
    """
    fit = _quad if box_type == "quad" else _polygon

    def candidates(binary: NDArray[np.uint8], probability: NDArray[np.float32]) -> Iterator[Box]:
        binary = cv2.dilate(binary, SQUARE) if dilate else binary
        contours, _ = cv2.findContours(binary, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)
        for contour in contours[:max_candidates]:
            score = _score(probability, binary, contour[:, 0], score_mode)
            points = fit(contour[:, 0], expand_ratio) if score >= box_thresh else None
            if points is not None:
                yield Box(points, score)

    def decode(maps: NDArray[np.float32], shape: Shape | None) -> list[Box]:
        probability = maps[0]
        return to_source(list(candidates((probability >= binary_thresh).astype(np.uint8), probability)), shape)

    return decode


def _score(probability: NDArray[np.float32], binary: NDArray[np.uint8], contour: NDArray[Any], mode: str) -> float:
    """The mean probability of the pixels of a contour (n, 2); `mode` is the `score_mode`."""
    height, width = probability.shape
    corners = cv2.boxPoints(cv2.minAreaRect(contour)) if mode == "box" else contour
    (left, top), (right, bottom) = (
        np.clip(corner, 0, (width - 1, height - 1)).astype(int)
        for corner in (np.floor(corners.min(axis=0)), np.ceil(corners.max(axis=0)))
    )
    area = slice(top, bottom + 1), slice(left, right + 1)
    mask = binary[area]
    if mode != "rectangle":
        polygon = (corners - (left, top)).astype(np.int32)  # truncated, as in PaddleOCR
        mask = cv2.fillPoly(np.zeros((bottom + 1 - top, right + 1 - left), np.uint8), [polygon], 1)
    return float(cv2.mean(probability[area], mask)[0])


def _quad(contour: NDArray[np.int32], expand_ratio: float) -> NDArray[np.float32] | None:
    """The expanded minimum-area rectangle (4, 2) of a contour; None if it is too small before or after."""
    kernel = cv2.minAreaRect(contour)
    if min(kernel[1]) < MIN_CONTOUR:
        return None
    corners = cv2.boxPoints(kernel)
    expanded = _expand(corners, expand_ratio)
    box = expanded and cv2.minAreaRect(expanded[0])
    return clockwise(cv2.boxPoints(box)) if box and min(box[1]) >= MIN_BOX else None


def _polygon(contour: NDArray[np.int32], expand_ratio: float) -> NDArray[np.float32] | None:
    """The expanded polygon (n, 2) of a contour; None if it is too small or splits."""
    corners = cv2.approxPolyDP(contour, SMOOTH * cv2.arcLength(contour, True), True)[:, 0]
    expanded = _expand(corners, expand_ratio) if len(corners) >= 4 else []
    if len(expanded) != 1 or min(cv2.minAreaRect(expanded[0])[1]) < MIN_BOX:
        return None
    return expanded[0].astype(np.float32)


def _expand(corners: NDArray[Any], ratio: float) -> list[NDArray[np.int32]]:
    return offset(corners, area_by_perimeter(corners) * ratio)
