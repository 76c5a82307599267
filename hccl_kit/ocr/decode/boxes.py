"""Boxes: the outlines of texts, and the way back to the image that they were found in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hccl_kit.ocr.data.pages.pages import Shape


@dataclass(frozen=True, slots=True)
class Box:
    """The outline of a text, points (n, 2) float32 as x and y, and how sure the network is, from 0 to 1."""

    points: NDArray[np.float32]
    score: float


Decode = Callable[[NDArray[np.float32], Shape | None], list[Box]]
"""The maps (C, h, w) of an image, and the way back to the source, to texts. None: the boxes stay in the image."""


def to_source(boxes: list[Box], shape: Shape | None) -> list[Box]:
    """Boxes of an image in whole pixels of the source that it was made of, none off it; without `shape` as they are."""
    return boxes if shape is None else [Box(_to_source(box.points, shape), box.score) for box in boxes]


def _to_source(points: NDArray[np.float32], shape: Shape) -> NDArray[np.float32]:
    source = np.rint(points / np.array([shape.scale_w, shape.scale_h], np.float32))
    return np.clip(source, 0, [shape.src_w - 1, shape.src_h - 1]).astype(np.float32)


def clockwise(corners: NDArray[np.float32]) -> NDArray[np.float32]:
    """Four corners from the upper one of the left pair on, clockwise on the screen."""
    by_x = corners[np.argsort(corners[:, 0], kind="stable")]
    (top_left, bottom_left), (top_right, bottom_right) = (
        pair[np.argsort(pair[:, 1], kind="stable")] for pair in (by_x[:2], by_x[2:])
    )
    return np.stack([top_left, top_right, bottom_right, bottom_left])
