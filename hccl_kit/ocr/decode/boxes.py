"""Boxes of texts, and their transformation back to the source image."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hccl_kit.ocr.data.pages.pages import Shape


@dataclass(frozen=True, slots=True)
class Box:
    """The polygon of a text, points (n, 2) float32 as x and y, and its score from 0 to 1."""

    points: NDArray[np.float32]
    score: float


Decode = Callable[[NDArray[np.float32], Shape | None], list[Box]]
"""From the maps (C, h, w) of an image to boxes in pixels of the source; with None in pixels of the image."""


def to_source(boxes: list[Box], shape: Shape | None) -> list[Box]:
    """Boxes in whole pixels of the source, clipped to it; unchanged without `shape`."""
    return boxes if shape is None else [Box(_to_source(box.points, shape), box.score) for box in boxes]


def _to_source(points: NDArray[np.float32], shape: Shape) -> NDArray[np.float32]:
    source = np.rint(points / np.array([shape.scale_w, shape.scale_h], np.float32))
    return np.clip(source, 0, [shape.src_w - 1, shape.src_h - 1]).astype(np.float32)
