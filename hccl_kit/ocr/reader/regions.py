"""From the probability map of a page to its texts: boxes in the order of reading, and the image of each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hccl_kit.ocr.data.pages.pages import Shape
from hccl_kit.ocr.decode.boxes import Box
from hccl_kit.ocr.decode.db import db_postprocess
from hccl_kit.ocr.reader.page import Image

SMALLEST = 4
"""Sides of a box in pixels of the page; shorter ones are noise."""
ROW = 10
"""Vertical distance of consecutive boxes, by their upper left corners in pixels, from which a new row begins."""
_decode = db_postprocess(
    binary_thresh=0.3, box_thresh=0.5, max_candidates=1000, expand_ratio=1.6, score_mode="box", dilate=True
)


def boxes(probabilities: NDArray[np.float32], image: Image) -> list[Box]:
    """The texts of a page by the map (1, 1, H, W) of the detector: boxes (4, 2) in its pixels, in reading order."""
    (rows, columns), (height, width) = probabilities.shape[2:], image.shape[:2]
    shape = Shape(src_h=height, src_w=width, scale_h=rows / height, scale_w=columns / width)
    return in_reading_order([box for box in _decode(probabilities[0], shape) if _is_large(box.points)])


def in_reading_order(boxes: list[Box]) -> list[Box]:
    """From top to bottom by the first corner, and within a row from left to right."""
    ordered = sorted(boxes, key=lambda box: float(box.points[0, 1]))
    tops = np.array([box.points[0, 1] for box in ordered])
    rows = np.cumsum(np.diff(tops, prepend=tops[:1]) >= ROW).tolist()
    pairs = sorted(zip(rows, ordered, strict=True), key=lambda pair: (pair[0], float(pair[1].points[0, 0])))
    return [box for _, box in pairs]


def _is_large(points: NDArray[np.float32]) -> bool:
    sides = np.linalg.norm(points[[1, 3]] - points[0], axis=1)
    return bool(sides.min() >= SMALLEST)
