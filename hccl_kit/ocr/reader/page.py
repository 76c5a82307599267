"""A page before and after detection, and its lines in batches of similar width."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, sqrt
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from hccl_kit.ocr.data.pages.pages import Shape
from hccl_kit.ocr.data.samples import BadSampleError
from hccl_kit.ocr.decode.boxes import Box
from hccl_kit.ocr.decode.db import db_postprocess

Image = NDArray[np.uint8]
"""HxWx3, BGR."""
SHORTEST, LONGEST = 30, 2000
"""Sides of a page in pixels: a shorter side is enlarged, a longer one reduced."""
FLAT = 8
"""The ratio of width to height beyond which a page is padded above and below."""
THIN = 200
"""Longer over shorter side beyond which an image is not a page: enlarging it would take gigabytes."""
DETECTED = 736
"""The least length of the shorter side in the detector."""
STRIDE = 32
MOST_PIXELS = 1 << 23
"""Maximum pixels of an image in the detector, which takes about 0.4 GB for a million of them."""


class Page(NamedTuple):
    """A page with sides within the limits; a point of its source is (point - (0, top)) * scale."""

    image: Image
    top: int
    """Rows of padding above, and as many below."""
    scale: tuple[float, float]
    """Pixels of the source for one pixel, in x and y."""

    def to_source(self, points: NDArray[np.float32]) -> NDArray[np.float32]:
        """Points (n, 2) of this page as points of its source, clipped to it."""
        height, width = self.image.shape[0] - 2 * self.top, self.image.shape[1]
        source = (points - (0, self.top)) * self.scale
        return np.clip(source, 0, np.rint((width * self.scale[0], height * self.scale[1]))).astype(np.float32)


def prepared(source: Image) -> Page:
    """The page of an image. Raises BadSampleError if one side is more than THIN times the other."""
    height, width = source.shape[:2]
    if max(height, width) > THIN * min(height, width):
        raise BadSampleError(f"an image of {width} x {height} pixels; accepted: up to {THIN} times as long as wide")
    image = source
    if max(height, width) > LONGEST:
        image = _resized(image, LONGEST / max(height, width))
    if min(image.shape[:2]) < SHORTEST:
        image = _resized(image, SHORTEST / min(image.shape[:2]))
    scale = width / image.shape[1], height / image.shape[0]
    top = _padding(*image.shape[:2])
    return Page(cv2.copyMakeBorder(image, top, top, 0, 0, cv2.BORDER_CONSTANT), top, scale)


def detector_input(image: Image) -> NDArray[np.float32]:
    """The page as images (1, 3, H, W) from -1 to 1; H and W are multiples of 32 and usually at least DETECTED."""
    height, width = image.shape[:2]
    wanted = max(1.0, DETECTED / min(height, width))
    return normalised(_resized(image, min(wanted, sqrt(MOST_PIXELS / (height * width)))))[None]


def normalised(image: Image) -> NDArray[np.float32]:
    """An image HxWx3 as channels (3, H, W) from -1 to 1."""
    return np.ascontiguousarray(image.transpose(2, 0, 1), np.float32) / 127.5 - 1


def _resized(image: Image, ratio: float) -> Image:
    """Sides times `ratio`, each rounded to a multiple of 32, at least 32."""
    height, width = (max(1, round(int(side * ratio) / STRIDE)) * STRIDE for side in image.shape[:2])
    return np.asarray(cv2.resize(image, (width, height)), np.uint8)


def _padding(height: int, width: int) -> int:
    """Rows to add above and below: text that touches the border of a flat page would be missed."""
    if height > SHORTEST and width <= FLAT * height:
        return 0
    return abs(2 * max(width // FLAT, SHORTEST) - height) // 2


SMALLEST = 4
"""Sides of a box in pixels of the page; shorter ones are noise."""
ROW = 10
"""Vertical distance of consecutive boxes, by their upper left corners in pixels, from which a new row begins."""
_decode = db_postprocess(
    binary_thresh=0.3, box_thresh=0.5, max_candidates=1000, expand_ratio=1.6, score_mode="box", dilate=True
)


def text_boxes(probabilities: NDArray[np.float32], image: Image) -> list[Box]:
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


HEIGHT, WIDTH = 48, 320
"""Height and least width of a line image in the recogniser; longer lines keep their ratio."""
DIRECTION_WIDTH = 192
"""Width of a line image in the classifier of directions; longer lines are squeezed into it."""
GROUP = 6
"""Lines in a group of one width in the recogniser."""
MOST_COLUMNS = 1 << 14
"""Maximum sum of the widths in a batch: a batch of the widest lines would take gigabytes in the attention."""


class Batch(NamedTuple):
    """Lines that a network takes at once."""

    numbers: NDArray[np.intp]
    """Their indices among all lines."""
    images: NDArray[np.float32]
    """(N, 3, 48, W) from -1 to 1, zero to the right of each line."""


def batches(lines: Sequence[Image], *, width: int | None = None) -> Iterator[Batch]:
    """All lines, sorted by width over height, in groups of similar width; or all at the one `width`.

    A group is as wide as its widest line, at least WIDTH. The padding changes a reading slightly, so groups are those
    of rapidocr; a group of very wide lines is run in parts of the same width.
    """
    ratios = np.array([line.shape[1] / line.shape[0] for line in lines])
    order = np.argsort(ratios)
    count = MOST_COLUMNS // width if width else GROUP
    for start in range(0, len(lines), count):
        group = order[start : start + count]
        columns = width or int(HEIGHT * max(WIDTH / HEIGHT, ratios[group].max()))
        size = max(1, MOST_COLUMNS // columns)
        for first in range(0, len(group), size):
            part = group[first : first + size]
            yield Batch(part, np.stack([_padded(lines[number], columns) for number in part]))


def _padded(line: Image, columns: int) -> NDArray[np.float32]:
    height, width = line.shape[:2]
    inner = min(columns, ceil(HEIGHT * (width / height)))
    image = np.zeros((3, HEIGHT, columns), np.float32)
    image[:, :, :inner] = normalised(np.asarray(cv2.resize(line, (inner, HEIGHT)), np.uint8))
    return image
