"""A picture of what was read: the images, their texts beside them, what is wrong in red."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

ROW, IMAGE_WIDTH, TEXT_WIDTH = 48, 200, 420
MAX_ROWS = 200
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
    shown = text.encode("ascii", "replace").decode()
    cv2.putText(line, shown, (left, 31), cv2.FONT_HERSHEY_SIMPLEX, 0.7, colour, 1, cv2.LINE_AA)
