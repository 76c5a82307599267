"""Pictures of what was found: lines with their readings beside them, pages with their texts outlined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

ROW, IMAGE_WIDTH, TEXT_WIDTH = 48, 200, 420
MAX_ROWS = 200
FONT = cv2.FONT_HERSHEY_SIMPLEX
BLACK, GREEN, RED = (0, 0, 0), (0, 130, 0), (0, 0, 200)


@dataclass(frozen=True, slots=True)
class Row:
    """An image HxWx3 uint8, what was read in it and, where known, what is written there."""

    image: NDArray[Any]
    text: str
    confidence: float
    truth: str | None = None


def visible(image: NDArray[np.float32]) -> NDArray[np.uint8]:
    """An image as networks take it, CxHxW with red first in any range, as one to look at: HxWx3 uint8, blue first."""
    low, high = float(image.min()), float(image.max())
    scaled = (image - low) * (255 / max(high - low, 1e-6))
    return np.ascontiguousarray(scaled.transpose(1, 2, 0)[:, :, ::-1]).astype(np.uint8)


def draw(rows: Sequence[Row]) -> NDArray[np.uint8]:
    """One line for each of at most MAX_ROWS rows; letters outside ASCII appear as '?', OpenCV draws no others."""
    lines = [_line(row) for row in rows[:MAX_ROWS]]
    return np.vstack(lines) if lines else np.full((ROW, IMAGE_WIDTH + TEXT_WIDTH, 3), 255, np.uint8)


def draw_page(image: NDArray[np.uint8], outlines: Sequence[tuple[NDArray[Any], str]]) -> NDArray[np.uint8]:
    """A page HxWx3 with a green outline around each text; with readings, these at their places on a page beside it."""
    page = image.copy()
    width = max(1, round(max(image.shape[:2]) / 600))
    for points, _ in outlines:
        cv2.polylines(page, [np.rint(points).astype(np.int32)], True, GREEN, width, cv2.LINE_AA)
    if not any(text for _, text in outlines):
        return page
    beside = np.full_like(page, 255)
    for points, text in outlines:
        (left, _), (right, bottom) = points.min(axis=0), points.max(axis=0)
        scale = _scale_of(text, float(right - left))
        cv2.putText(beside, _ascii(text), (int(left), int(bottom)), FONT, scale, BLACK, width, cv2.LINE_AA)
    return np.hstack([page, beside])


def _scale_of(text: str, width: float) -> float:
    """How large a text is written so that it is about `width` pixels wide."""
    (natural, _), _ = cv2.getTextSize(_ascii(text), FONT, 1.0, 1)
    return min(2.0, max(0.2, width / max(natural, 1)))


def _line(row: Row) -> NDArray[np.uint8]:
    line = np.full((ROW, IMAGE_WIDTH + TEXT_WIDTH, 3), 255, np.uint8)
    height, width = row.image.shape[:2]
    scale = min((ROW - 8) / height, (IMAGE_WIDTH - 8) / width)
    small = cv2.resize(row.image, (max(1, round(width * scale)), max(1, round(height * scale))))
    line[4 : 4 + small.shape[0], 4 : 4 + small.shape[1]] = small
    colour = BLACK if row.truth is None else GREEN if row.truth == row.text else RED
    _write(line, row.text or "(nothing)", IMAGE_WIDTH + 10, colour)
    _write(line, f"{row.confidence:.0%}", IMAGE_WIDTH + 190, BLACK)
    if row.truth is not None and row.truth != row.text:
        _write(line, row.truth, IMAGE_WIDTH + 260, BLACK)
    return line


def _write(line: NDArray[np.uint8], text: str, left: int, colour: tuple[int, int, int]) -> None:
    cv2.putText(line, _ascii(text), (left, 31), FONT, 0.7, colour, 1, cv2.LINE_AA)


def _ascii(text: str) -> str:
    return text.encode("ascii", "replace").decode()
