"""EASTProcessTrain: a random crop of a page, and the score and geometry maps that EAST learns.

After Zhou et al. 2017, "EAST: An Efficient and Accurate Scene Text Detector", 3.3 and 3.4.1, augmented as in MindOCR.
"""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
import shapely
from numpy.typing import NDArray

from hccl_kit.ocr.data.pages.page_moves import rotate
from hccl_kit.ocr.data.pages.pages import Page, Polygons
from hccl_kit.ocr.data.pages.views import Moves, View, enlarged
from hccl_kit.ocr.data.transforms import Transform, image_of

SHRINK = 0.3
"""Inward shift of a corner, as a share of its shorter side."""
STRETCH = 0.2
DEGREES = 10
MAX_TRIES = 1000
UNCUT = (0.01, 0.99)
"""Below and above these visible shares a text counts as outside and as complete."""
ANGLES = np.radians(np.arange(-90, 90))
BEST = 10
"""Of this number of angles with the smallest rectangles, the one with the least corner displacement is chosen."""


def east_process_train(*, scale: float = 0.25, length: int = 512) -> Transform[Page]:
    """Augment a page and add three maps with `scale` times its rows and columns.

    The page is stretched by up to a fifth in each direction, rotated by up to 10 degrees with probability 0.5, and
    cropped to `length` x `length` pixels, if possible without cutting a text. Scores (1, h, w), 1 in the shrunk texts;
    geometry (5, h, w), the distances to the upper, lower, left and right edge in pixels and the angle in radians;
    ignored (1, h, w), 1 for pixels that the loss ignores.
    """

    def cut(view: View, generator: np.random.Generator) -> View:
        view = enlarged(view, length)
        # Valid, because GEOS cannot clip some polygons that are flat or touch themselves.
        texts = shapely.make_valid(shapely.polygons(view.polys[~view.ignored].astype(np.float64)))
        for _ in range(MAX_TRIES):
            top, left = (int(generator.integers(side - length + 1)) for side in view.size)
            if not _cuts(texts, left, top, length):
                break
        return view.moved(np.array([[1, 0, -left], [0, 1, -top]], float), (length, length))

    def draw(page: Page, _: np.random.Generator) -> Page:
        height, width = image_of(page).shape[:2]
        maps = draw_geometry(page.polys, page.ignored, (round(height * scale), round(width * scale)), round(1 / scale))
        return replace(page, maps=(*page.maps, *maps))

    rotation = rotate(degrees=(-DEGREES, DEGREES), expand_canvas=False, p=0.5)
    assert isinstance(rotation, Moves)
    return Moves((_stretch, *rotation.moves, cut), is_last=True, draws=(draw,))


def _stretch(view: View, generator: np.random.Generator) -> View:
    down, right = generator.uniform(1 - STRETCH, 1 + STRETCH, 2)
    height, width = max(1, round(view.size[0] * down)), max(1, round(view.size[1] * right))
    return view.moved(
        np.diag([right, down]) @ np.eye(2, 3) + [[0, 0, (right - 1) / 2], [0, 0, (down - 1) / 2]], (height, width)
    )


def _cuts(texts: NDArray[np.object_], left: int, top: int, length: int) -> bool:
    """Whether a crop of the page cuts through a text."""
    inside = shapely.area(shapely.clip_by_rect(texts, left, top, left + length, top + length))
    shares = inside / np.maximum(shapely.area(texts), 1e-9)
    return bool(((shares >= UNCUT[0]) & (shares <= UNCUT[1])).any())


def draw_geometry(
    polys: Polygons, ignored: NDArray[np.bool_], size: tuple[int, int], stride: int
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """Scores (1, h, w), geometry (5, h, w) and ignored (1, h, w) at 1/`stride` of the image's resolution.

    A polygon with more than four corners is replaced by its minimum-area rectangle.
    """
    scores, nothing = np.zeros(size, np.uint8), np.zeros(size, np.uint8)
    geometry = np.zeros((5, *size), np.float32)
    seen = (polys.max(axis=1) >= 0).all(axis=1) & (polys.min(axis=1) < np.array(size[::-1]) * stride).all(axis=1)
    for number in np.flatnonzero(seen):
        if ignored[number]:
            cv2.fillPoly(nothing, [np.rint(polys[number] / stride).astype(np.int32)], 1)
            continue
        quad = four_corners(polys[number])
        inner = cv2.fillPoly(np.zeros(size, np.uint8), [np.rint(shrunk(quad) / stride).astype(np.int32)], 1)
        rows, columns = np.nonzero(inner)
        scores[rows, columns] = 1
        geometry[:, rows, columns] = _distances(quad, columns * stride, rows * stride)
    if not scores.any():
        scores[0, 0] = 1  # as in MindOCR: a batch without text needs a divisor
    return scores[None].astype(np.float32), geometry, nothing[None].astype(np.float32)


def four_corners(poly: NDArray[np.float32]) -> NDArray[np.float64]:
    """The corners (4, 2) of a text in its order; of its minimum-area rectangle if the polygon has more.

    A triangle gets its last corner twice.
    """
    rows = np.sort(np.unique(poly, axis=0, return_index=True)[1])
    if len(rows) <= 4:
        return poly[rows[np.minimum(range(4), len(rows) - 1)]].astype(np.float64)
    corners = cv2.boxPoints(cv2.minAreaRect(poly)).astype(np.float64)
    if cv2.contourArea(poly, oriented=True) < 0:
        corners = corners[::-1]
    first = np.linalg.norm(corners - poly[0], axis=1).argmin()
    return np.roll(corners, -first, axis=0)


def shrunk(quad: NDArray[np.float64]) -> NDArray[np.float64]:
    """The quadrilateral (4, 2) with its corners moved inwards along both edges, the longer pair of edges first."""
    sides = np.linalg.norm(np.roll(quad, -1, axis=0) - quad, axis=1)
    reach = SHRINK * np.minimum(sides, np.roll(sides, 1))
    first = 0 if sides[0] + sides[2] > sides[1] + sides[3] else 1
    moved = quad.copy()
    for start in (first, first + 2, first + 1, first + 3):
        one, two = start % 4, (start + 1) % 4
        edge = moved[two] - moved[one]
        far = np.linalg.norm(edge)
        if far > 1:
            moved[one], moved[two] = moved[one] + edge * (reach[one] / far), moved[two] - edge * (reach[two] / far)
    return moved


def _distances(quad: NDArray[np.float64], x: NDArray[np.intp], y: NDArray[np.intp]) -> NDArray[np.float64]:
    """Distances of places (n,) to the edges of a text, along its own axes, and its angle: (5, n)."""
    angle = best_angle(quad)
    turn = _turns(np.array([angle]))[0]
    corners = (quad - quad[0]) @ turn.T
    places = (np.stack([x, y], axis=1) - quad[0]) @ turn.T
    low, high = corners.min(axis=0), corners.max(axis=0)
    (left, upper), (right, lower) = (places - low).T, (high - places).T
    far = np.maximum(np.stack([upper, lower, left, right]), 0)
    return np.concatenate([far, np.full((1, len(x)), angle)])


def best_angle(quad: NDArray[np.float64]) -> float:
    """The angle, in radians, of the rotation that aligns the text with a small upright rectangle."""
    turned = (quad - quad[0]) @ _turns(ANGLES).transpose(0, 2, 1)
    low, high = turned.min(axis=1), turned.max(axis=1)
    best = np.argsort((high - low).prod(axis=1), kind="stable")[:BEST]
    straight = np.stack([low, np.stack([high[:, 0], low[:, 1]], 1), high, np.stack([low[:, 0], high[:, 1]], 1)], axis=1)
    off = np.linalg.norm(turned - straight, axis=2).sum(axis=1)
    return float(ANGLES[best[off[best].argmin()]])


def _turns(angles: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rotation matrices (n, 2, 2); positive angles are clockwise on the screen."""
    cos, sin = np.cos(angles), np.sin(angles)
    return np.stack([np.stack([cos, -sin], axis=1), np.stack([sin, cos], axis=1)], axis=1)
