"""Geometric transforms of pages as views: where the pixels of a page will be, before any of them is drawn.

Transforms that follow each other are joined and drawn at once: an image that is scaled by 3 and then cropped to
640 x 640 costs 640 x 640 pixels, not 9 times the page, and is interpolated once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data.pages.pages import Page, Polygons, assert_drawable
from hccl_kit.ocr.data.transforms import Transform, image_of

Matrix = NDArray[np.float64]
"""Shape (3, 3): (x, y, 1) of the image to a multiple of (x, y, 1) of the view; an affine step may leave out row 3."""
HORIZON = 0.1
"""Least third coordinate of a corner: beyond the horizon of a perspective view, a corner far outside the page would
come back on the other side."""


@dataclass(frozen=True, slots=True)
class View:
    """The visible part of a page: its image under `matrix`, cropped to `size` (height, width) from the origin.

    `polys` are in pixels of the view. `canvas` is the size to which the view is padded with black, if any.
    """

    matrix: Matrix
    size: tuple[int, int]
    polys: Polygons
    ignored: NDArray[np.bool_]
    canvas: tuple[int, int] | None = None

    def moved(self, by: Matrix, size: tuple[int, int]) -> View:
        """The view after one more transform."""
        step = by if len(by) == 3 else np.vstack([by, (0, 0, 1)])
        polys = self.polys @ step[:, :2].T + step[:, 2]
        polys = polys[..., :2] / np.maximum(polys[..., 2:], HORIZON)
        return replace(self, matrix=step @ self.matrix, size=size, polys=polys.astype(np.float32))


Move = Callable[[View, np.random.Generator], View]


@dataclass(frozen=True, slots=True)
class Moves:
    """A transform of pages: all moves, then drawing the pixels, then the targets that `draws` make of the polygons."""

    moves: tuple[Move, ...]
    is_last: bool = False
    """Whether no other moves may be joined after these: after a crop, the removed part would come back."""
    draws: tuple[Transform[Page], ...] = ()

    def __call__(self, page: Page, generator: np.random.Generator) -> Page:
        """The transformed page. Raises KitError if the targets of a loss have been drawn already."""
        if page.maps:
            raise KitError(
                "ocr.views.geometric-transform-follows",
                "a geometric transform follows the transforms that draw the targets",
                fix="put all geometric transforms before these, one after the other",
            )
        image = image_of(page)
        height, width = image.shape[:2]
        view = View(np.eye(3), (height, width), page.polys, page.ignored)
        for move in self.moves:
            view = move(view, generator)
        content = view.size if view.canvas else None
        page = replace(page, image=_draw(image, view), polys=view.polys, content=content)
        for draw in self.draws:
            page = draw(page, generator)
        return page


def join(transforms: Iterable[Transform[Any]]) -> list[Transform[Any]]:
    """The same transforms, consecutive moves joined into one."""
    joined: list[Transform[Any]] = []
    for transform in transforms:
        before = joined[-1] if joined else None
        if isinstance(transform, Moves) and isinstance(before, Moves) and not before.is_last:
            joined[-1] = Moves(before.moves + transform.moves, transform.is_last, before.draws + transform.draws)
        else:
            joined.append(transform)
    return joined


def scaling(factor: float) -> Matrix:
    """The matrix of `cv2.resize`: the outer edges of the pixels stay aligned, not the centres of the outer pixels."""
    return np.array([[factor, 0, (factor - 1) / 2], [0, factor, (factor - 1) / 2]])


def enlarged(view: View, shortest: int) -> View:
    """The view scaled up to a shorter side of at least `shortest` pixels."""
    factor = shortest / min(view.size)
    if factor <= 1:
        return view
    height, width = (max(shortest, round(side * factor)) for side in view.size)
    return view.moved(scaling(factor), (height, width))


def _draw(image: NDArray[Any], view: View) -> NDArray[Any]:
    """Draw the pixels of a view."""
    height, width = view.size
    if view.size == image.shape[:2] and (view.matrix == np.eye(3)).all():
        drawn = image
    else:
        assert_drawable(height, width)
        image, matrix = _reduced(image, view.matrix)
        # Outside a rotated page there is black. A page that is only scaled extends half a pixel beyond the centres of
        # its outer pixels, which must not be mixed with black.
        affine = not matrix[2, :2].any()
        straight = affine and not matrix[0, 1] and not matrix[1, 0]
        beyond = cv2.BORDER_REPLICATE if straight else cv2.BORDER_CONSTANT
        warp, matrix = (cv2.warpAffine, matrix[:2]) if affine else (cv2.warpPerspective, matrix)
        drawn = warp(image, matrix, (width, height), flags=cv2.INTER_LINEAR, borderMode=beyond)
    if view.canvas is None or view.canvas == view.size:
        return drawn
    below, right = view.canvas[0] - height, view.canvas[1] - width
    return cv2.copyMakeBorder(drawn, 0, below, 0, right, cv2.BORDER_CONSTANT, value=(0, 0, 0))


def _reduced(image: NDArray[Any], matrix: Matrix) -> tuple[NDArray[Any], Matrix]:
    """An image that shrinks to half or less is averaged first: interpolation alone reads 2 x 2 pixels.

    In a perspective view the scale is that of the linear part, near enough for a slight one.
    """
    shrink = int(1 / np.sqrt(abs(np.linalg.det(matrix[:2, :2]))))
    if shrink < 2:
        return image, matrix
    height, width = (max(1, side // shrink) for side in image.shape[:2])
    y, x = image.shape[0] / height, image.shape[1] / width
    small = cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA)
    back = np.array([[x, 0, (x - 1) / 2], [0, y, (y - 1) / 2], [0, 0, 1]])
    return small, matrix @ back
