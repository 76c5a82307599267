"""Random geometric transforms of pages: flip, rotate, scale and crop, with MindOCR's names and options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from hccl_kit.ocr.data.pages.pages import Page
from hccl_kit.ocr.data.pages.views import Moves, View, join, scaling
from hccl_kit.ocr.data.transforms import Transform, ascending


def flip(*, p: float = 0.5) -> Transform[Page]:
    """Horizontal flip with probability `p`; polygons keep their orientation."""

    def move(view: View, generator: np.random.Generator) -> View:
        if generator.random() >= p:
            return view
        mirrored = view.moved(np.array([[-1, 0, view.size[1] - 1], [0, 1, 0]], float), view.size)
        return replace(mirrored, polys=mirrored.polys[:, ::-1])

    return Moves((move,))


def rotate(*, degrees: Sequence[float] = (-10, 10), expand_canvas: bool = True, p: float = 1.0) -> Transform[Page]:
    """Rotation about the centre by an angle from the range `degrees`; positive is counterclockwise.

    `expand_canvas` enlarges the page to contain its corners; otherwise it keeps its size and the corners are cut off.
    """
    lowest, highest = ascending("RandomRotate: degrees", degrees)

    def move(view: View, generator: np.random.Generator) -> View:
        if generator.random() >= p:
            return view
        height, width = view.size
        centre = (width // 2, height // 2)
        matrix = cv2.getRotationMatrix2D(centre, generator.uniform(lowest, highest), 1)
        if not expand_canvas:
            return view.moved(matrix, view.size)
        cos, sin = np.abs(matrix[0, :2])
        size = max(1, int(height * cos + width * sin)), max(1, int(height * sin + width * cos))
        matrix[:, 2] += size[1] / 2 - centre[0], size[0] / 2 - centre[1]
        return view.moved(matrix, size)

    return Moves((move,))


def perspective(*, distortion: float = 0.1, p: float = 0.3) -> Transform[Page]:
    """With probability `p` a perspective view: each corner moves inwards by up to a share `distortion` of the sides."""

    def move(view: View, generator: np.random.Generator) -> View:
        if generator.random() >= p:
            return view
        height, width = view.size
        corners = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
        inwards = generator.uniform(0, distortion, (4, 2)) * [width, height]
        moved = corners + inwards * [[1, 1], [-1, 1], [-1, -1], [1, -1]]
        return view.moved(cv2.getPerspectiveTransform(corners, moved.astype(np.float32)), view.size)

    return Moves((move,))


def scale(*, scale_range: Sequence[float], size_limits: Sequence[int] | None = None, p: float = 0.5) -> Transform[Page]:
    """Scaling by a factor from the range, the same in both directions.

    `size_limits`: no side becomes shorter than the first or longer than the second, if both limits can be met.
    """
    lowest, highest = ascending("RandomScale: scale_range", sorted(scale_range))
    shortest, longest = sorted(size_limits) if size_limits else (0, np.inf)

    def move(view: View, generator: np.random.Generator) -> View:
        if generator.random() >= p:
            return view
        low, high = max(lowest, shortest / min(view.size)), min(highest, longest / max(view.size))
        factor = low + (high - low) * generator.random()  # `low` may be the larger one, as in MindOCR
        height, width = (max(1, round(side * factor)) for side in view.size)
        return view.moved(scaling(factor), (height, width))

    return Moves((move,))


def crop(
    *, max_tries: int = 10, min_crop_ratio: float = 0.1, crop_size: Sequence[int] = (640, 640), p: float = 0.5
) -> Transform[Page]:
    """With probability `p` a random crop that contains a text and cuts none, otherwise the whole page.

    The crop is scaled to fit into `crop_size` (height, width) and padded with black. Its sides are at least
    `min_crop_ratio` of those of the page. If `max_tries` crops contain no text, the whole page is used. Ignored texts
    may be cut.
    """
    canvas = (crop_size[0], crop_size[1])

    def move(view: View, generator: np.random.Generator) -> View:
        part = _text_part(view, generator, max_tries, min_crop_ratio) if generator.random() < p else None
        top, left, bottom, right = part or (0, 0, *view.size)
        factor = min(canvas[0] / (bottom - top), canvas[1] / (right - left))
        height, width = (max(1, round(side * factor)) for side in (bottom - top, right - left))
        matrix = scaling(factor) @ np.array([[1, 0, -left], [0, 1, -top], [0, 0, 1]], float)
        return replace(view.moved(matrix, (min(height, canvas[0]), min(width, canvas[1]))), canvas=canvas)

    return Moves((move,), is_last=True)


def crop_with_text(
    *,
    size: Sequence[int],
    main_key: str = "gt_text",  # noqa: ARG001  # what MindOCR crops; here it is the page, before targets are drawn
    crop_keys: Sequence[str] = ("image", "gt_text", "gt_kernels", "mask"),  # noqa: ARG001
    p: float = 3 / 8,
) -> Transform[Page]:
    """A crop of `size` (height, width), with probability `p` anywhere, else where it is likely to contain text.

    A smaller page is padded with black.
    """
    canvas = (size[0], size[1])

    def move(view: View, generator: np.random.Generator) -> View:
        points = view.polys.reshape(-1, 2)[:, ::-1]
        if not len(points) or generator.random() < p:
            points = np.array([(0, 0), view.size])
        lows, highs = points.min(axis=0), points.max(axis=0)
        top, left = (
            _start(*place, generator) for place in zip(lows.tolist(), highs.tolist(), view.size, canvas, strict=True)
        )
        height, width = min(view.size[0] - top, canvas[0]), min(view.size[1] - left, canvas[1])
        return replace(view.moved(np.array([[1, 0, -left], [0, 1, -top]], float), (height, width)), canvas=canvas)

    return Moves((move,), is_last=True)


def iaa_augment(
    *,
    Resize: Mapping[str, Any] | None = None,  # noqa: N803  # the names that the YAML files have
    Fliplr: Mapping[str, float] | None = None,  # noqa: N803
    Affine: Mapping[str, Any] | None = None,  # noqa: N803
) -> Transform[Page]:
    """Scale, flip and rotation in one transform.

    Such as `Resize: {size: [0.5, 3.0]}`, `Fliplr: {p: 0.5}`, `Affine: {rotate: [-10, 10], p: 1.0}`.
    """
    moves: list[Transform[Any]] = [Moves(())]
    if Resize is not None:
        moves.append(scale(scale_range=Resize["size"], p=1))
    if Fliplr is not None:
        moves.append(flip(**Fliplr))
    if Affine is not None:
        options = {name: value for name, value in Affine.items() if name != "rotate"}
        moves.append(rotate(degrees=Affine["rotate"], expand_canvas=False, **options))
    return join(moves)[0]


def _start(low: float, high: float, side: int, length: int, generator: np.random.Generator) -> int:
    """A random start of a crop of `length` on a side, such that it overlaps the range from `low` to `high`."""
    first, last = int(max(low - length + 1, 0)), int(min(max(high - length, 0), side - length))
    return int(generator.integers(first, last)) if first < last else 0


def _text_part(
    view: View, generator: np.random.Generator, max_tries: int, min_crop_ratio: float
) -> tuple[int, int, int, int] | None:
    """Top, left, bottom and right of a crop; None if there is no text or no crop was found."""
    polys = view.polys[~view.ignored]
    lows, highs = polys.min(axis=1), polys.max(axis=1)
    free = [_free(lows[:, 1 - axis], highs[:, 1 - axis], view.size[axis]) for axis in (0, 1)]
    if not len(polys) or not all(map(len, free)):
        return None
    smallest = np.ceil(np.array(view.size) * min_crop_ratio)
    for _ in range(max_tries):
        (top, bottom), (left, right) = (np.sort(generator.choice(rows, 2)).tolist() for rows in free)
        if bottom - top < max(1, smallest[0]) or right - left < max(1, smallest[1]):
            continue
        if ((highs > (left, top)) & (lows < (right, bottom))).all(axis=1).any():
            return top, left, bottom, right
    return None


def _free(lows: NDArray[Any], highs: NDArray[Any], length: int) -> NDArray[np.intp]:
    """The rows (or columns) of `length` that no text touches."""
    taken = np.zeros(length, bool)
    for low, high in zip(np.rint(lows).astype(int), np.rint(highs).astype(int), strict=True):
        taken[max(low, 0) : max(high + 1, 0)] = True
    return np.flatnonzero(~taken)
