"""Polygons: offsets by Clipper (Vatti 1992), as all text detectors compute them, and the order of corners."""

from __future__ import annotations

import cv2
import numpy as np
import pyclipper
from numpy.typing import ArrayLike, NDArray


def area_by_perimeter(points: ArrayLike, *, over: float = 0.0) -> float:
    """Area over perimeter of a polygon (n, 2), in pixels; 0 without a perimeter. DBNet's offsets are multiples of it.

    `over` is added to the perimeter: PSENet adds 0.001, which decides how a distance between two pixels is rounded.
    """
    corners = np.asarray(points, np.float32)
    perimeter = cv2.arcLength(corners, True)
    return float(cv2.contourArea(corners) / (perimeter + over)) if perimeter else 0.0


def offset(points: ArrayLike, distance: float) -> list[NDArray[np.int32]]:
    """The polygon (n, 2) with its edges moved outwards by `distance` pixels, corners rounded; inwards if negative.

    Clipper computes in whole pixels: fractions are truncated. A polygon may vanish (an empty list) or split.
    """
    path = np.asarray(points).astype(np.int64)
    if cv2.contourArea(path.astype(np.float32)) == 0:
        return []
    clipper = pyclipper.PyclipperOffset()
    clipper.AddPath(path.tolist(), pyclipper.JT_ROUND, pyclipper.ET_CLOSEDPOLYGON)
    return [np.array(piece, np.int32) for piece in clipper.Execute(distance)]


def clockwise(corners: NDArray[np.float32]) -> NDArray[np.float32]:
    """Four corners clockwise on the screen, starting at the upper one of the left pair."""
    by_x = corners[np.argsort(corners[:, 0], kind="stable")]
    (top_left, bottom_left), (top_right, bottom_right) = (
        pair[np.argsort(pair[:, 1], kind="stable")] for pair in (by_x[:2], by_x[2:])
    )
    return np.stack([top_left, top_right, bottom_right, bottom_left])
