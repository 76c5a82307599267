"""Polygons moved inwards or outwards, by Clipper (Vatti 1992) as the whole field does it."""

from __future__ import annotations

import cv2
import numpy as np
import pyclipper
from numpy.typing import ArrayLike, NDArray


def area_by_perimeter(points: ArrayLike, *, over: float = 0.0) -> float:
    """What the distances of DBNet are multiples of, in pixels; 0 for a polygon without extent. Points (n, 2).

    `over` is added to the perimeter: PSENet has 0.001 there, which decides where a distance lies between two pixels.
    """
    corners = np.asarray(points, np.float32)
    perimeter = cv2.arcLength(corners, True)
    return float(cv2.contourArea(corners) / (perimeter + over)) if perimeter else 0.0


def offset(points: ArrayLike, distance: float) -> list[NDArray[np.int32]]:
    """The polygon (n, 2) whose edges lie `distance` pixels further out, with round corners; negative: further in.

    Clipper counts in whole pixels: fractions are cut off before. A polygon may vanish (an empty list) or fall apart.
    """
    path = np.asarray(points).astype(np.int64)
    if cv2.contourArea(path.astype(np.float32)) == 0:
        return []
    clipper = pyclipper.PyclipperOffset()
    clipper.AddPath(path.tolist(), pyclipper.JT_ROUND, pyclipper.ET_CLOSEDPOLYGON)
    return [np.array(piece, np.int32) for piece in clipper.Execute(distance)]
