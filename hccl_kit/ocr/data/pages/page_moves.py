"""The steps of `transform_pipeline` that move a page: flip, rotate, scale and crop, with the options of MindOCR.

A move draws no pixel. It only says where the pixels of the page will lie, and steps that follow each other are drawn
in one go (`join`): an image that is scaled by 3 and then cropped to 640 x 640 costs 640 x 640 pixels, not 9 times the
page, and is interpolated once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data.pages.pages import Page, Polygons, assert_drawable
from hccl_kit.ocr.data.transforms import Transform, image_of

Matrix = NDArray[np.float64]
"""Shape (2, 3): (x, y, 1) of the image to (x, y) of the view."""


@dataclass(frozen=True, slots=True)
class View:
    """What will be seen of a page: its image under `matrix`, cut to `size` (height, width) from the origin.

    `polys` lie in the view already. `canvas`, where it is set, is the size that black fills the view up to.
    """

    matrix: Matrix
    size: tuple[int, int]
    polys: Polygons
    ignored: NDArray[np.bool_]
    canvas: tuple[int, int] | None = None

    def moved(self, by: Matrix, size: tuple[int, int]) -> View:
        """The view after one more movement."""
        matrix = by @ np.vstack([self.matrix, (0, 0, 1)])
        polys = self.polys @ by[:, :2].T + by[:, 2]
        return replace(self, matrix=matrix, size=size, polys=polys.astype(np.float32))


Move = Callable[[View, np.random.Generator], View]


@dataclass(frozen=True, slots=True)
class Moves:
    """A transform of pages: its moves, one after the other, then the pixels, then what is drawn of the polygons."""

    moves: tuple[Move, ...]
    is_last: bool = False
    """Nothing may be joined after a crop: what it cut off would come back."""
    draws: tuple[Transform[Page], ...] = ()

    def __call__(self, page: Page, generator: np.random.Generator) -> Page:
        """The page as it is seen afterwards; KitError where the targets of a loss are drawn already."""
        if page.maps:
            raise KitError(
                "a step of transform_pipeline moves the page after its targets are drawn",
                hint="put all that move it before, in one row",
            )
        image = image_of(page)
        height, width = image.shape[:2]
        view = View(np.eye(2, 3), (height, width), page.polys, page.ignored)
        for move in self.moves:
            view = move(view, generator)
        content = view.size if view.canvas else None
        page = replace(page, image=_draw(image, view), polys=view.polys, content=content)
        for draw in self.draws:
            page = draw(page, generator)
        return page


def join(steps: Iterable[Transform[Any]]) -> list[Transform[Any]]:
    """The same steps; moves that follow each other have become one."""
    joined: list[Transform[Any]] = []
    for step in steps:
        before = joined[-1] if joined else None
        if isinstance(step, Moves) and isinstance(before, Moves) and not before.is_last:
            joined[-1] = Moves(before.moves + step.moves, step.is_last, before.draws + step.draws)
        else:
            joined.append(step)
    return joined


def flip(*, p: float = 0.5) -> Transform[Page]:
    """Left becomes right with probability `p`; polygons keep their sense of rotation."""

    def move(view: View, generator: np.random.Generator) -> View:
        if generator.random() >= p:
            return view
        mirrored = view.moved(np.array([[-1, 0, view.size[1] - 1], [0, 1, 0]], float), view.size)
        return replace(mirrored, polys=mirrored.polys[:, ::-1])

    return Moves((move,))


def rotate(*, degrees: Sequence[float] = (-10, 10), expand_canvas: bool = True, p: float = 1.0) -> Transform[Page]:
    """About the centre by an angle out of the range `degrees`; positive turns against the clock.

    `expand_canvas`: the page grows until its corners are on it; otherwise it keeps its size and loses them.
    """
    lowest, highest = _range("RandomRotate: degrees", degrees)

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


def scale(*, scale_range: Sequence[float], size_limits: Sequence[int] | None = None, p: float = 0.5) -> Transform[Page]:
    """Larger or smaller by a factor out of the range, alike in both directions.

    `size_limits`: no side becomes shorter than the first or longer than the second, where both can be kept to.
    """
    lowest, highest = _range("RandomScale: scale_range", sorted(scale_range))
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
    """With probability `p` a random part that cuts no text and holds some, otherwise the whole page.

    It is scaled until it fits into `crop_size` (height, width); black fills the rest. A part is at least
    `min_crop_ratio` of the page high and wide. Where `max_tries` parts hold no text, the whole page is taken. Texts
    that are ignored may be cut.
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
    main_key: str = "gt_text",  # noqa: ARG001  # MindOCR's way to say what is cropped: here all is, and drawn afterwards
    crop_keys: Sequence[str] = ("image", "gt_text", "gt_kernels", "mask"),  # noqa: ARG001
    p: float = 3 / 8,
) -> Transform[Page]:
    """A part of `size` (height, width), with probability `p` anywhere, else where it is likely to hold text.

    Where the page is smaller, black fills the rest.
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
    """MindOCR's scale, flip and rotation in one step: `Resize: {size: [0.5, 3.0]}`, `Fliplr: {p: 0.5}`, `Affine:
    {rotate: [-10, 10], p: 1.0}`.
    """
    moves: list[Transform[Any]] = [Moves(())]
    if Resize is not None:
        moves.append(scale(scale_range=Resize["size"], p=1))
    if Fliplr is not None:
        moves.append(flip(**Fliplr))
    if Affine is not None:
        if "rotate" not in Affine:
            raise KitError(f"IaaAugment: Affine lacks rotate, found {dict(Affine)}", hint="Affine: {rotate: [-10, 10]}")
        options = {name: value for name, value in Affine.items() if name != "rotate"}
        moves.append(rotate(degrees=Affine["rotate"], expand_canvas=False, **options))
    return join(moves)[0]


def enlarged(view: View, shortest: int) -> View:
    """The view with a shorter side of at least so many pixels."""
    factor = shortest / min(view.size)
    if factor <= 1:
        return view
    height, width = (max(shortest, round(side * factor)) for side in view.size)
    return view.moved(scaling(factor), (height, width))


def _start(low: float, high: float, side: int, length: int, generator: np.random.Generator) -> int:
    """Where a part of `length` begins that holds some of what lies between `low` and `high`, on a side that long."""
    first, last = int(max(low - length + 1, 0)), int(min(max(high - length, 0), side - length))
    return int(generator.integers(first, last)) if first < last else 0


def scaling(factor: float) -> Matrix:
    """Scale as `cv2.resize` does: the outer edges of the pixels stay in place, not the centres of the outer pixels."""
    return np.array([[factor, 0, (factor - 1) / 2], [0, factor, (factor - 1) / 2]])


def _text_part(
    view: View, generator: np.random.Generator, max_tries: int, min_crop_ratio: float
) -> tuple[int, int, int, int] | None:
    """Top, left, bottom and right of a part; None where there is no text or no part was found."""
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
    """The rows (or columns) out of `length` that no text touches."""
    taken = np.zeros(length, bool)
    for low, high in zip(np.rint(lows).astype(int), np.rint(highs).astype(int), strict=True):
        taken[max(low, 0) : max(high + 1, 0)] = True
    return np.flatnonzero(~taken)


def _draw(image: NDArray[Any], view: View) -> NDArray[Any]:
    """The pixels of a view."""
    height, width = view.size
    if view.size == image.shape[:2] and (view.matrix == np.eye(2, 3)).all():
        drawn = image
    else:
        assert_drawable(height, width)
        image, matrix = _reduced(image, view.matrix)
        # Beyond a page that is turned there is black. One that only grows reaches half a pixel beyond the centres of
        # its outer pixels: that is still the page, not a mixture with black.
        beyond = cv2.BORDER_CONSTANT if matrix[0, 1] or matrix[1, 0] else cv2.BORDER_REPLICATE
        drawn = cv2.warpAffine(image, matrix, (width, height), flags=cv2.INTER_LINEAR, borderMode=beyond)
    if view.canvas is None or view.canvas == view.size:
        return drawn
    below, right = view.canvas[0] - height, view.canvas[1] - width
    return cv2.copyMakeBorder(drawn, 0, below, 0, right, cv2.BORDER_CONSTANT, value=(0, 0, 0))


def _reduced(image: NDArray[Any], matrix: Matrix) -> tuple[NDArray[Any], Matrix]:
    """An image that shrinks to less than half is averaged first: interpolation alone sees 2 x 2 pixels."""
    shrink = int(1 / np.sqrt(abs(np.linalg.det(matrix[:, :2]))))
    if shrink < 2:
        return image, matrix
    height, width = (max(1, side // shrink) for side in image.shape[:2])
    y, x = image.shape[0] / height, image.shape[1] / width
    small = cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA)
    back = np.array([[x, 0, (x - 1) / 2], [0, y, (y - 1) / 2], [0, 0, 1]])
    return small, matrix @ back


def _range(name: str, values: Sequence[float]) -> tuple[float, float]:
    if len(values) != 2 or values[0] > values[1]:
        raise KitError(f"{name} is {list(values)}; accepted: [lowest, highest]")
    return values[0], values[1]
