"""A page of a published set, and what the readers of all sets check: texts, numbers, corners, names of images."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from unicodedata import category

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data.image_paths import pairs
from hccl_kit.ocr.data.samples import MAX_COORDINATE, MAX_CORNERS, BadSampleError

if TYPE_CHECKING:
    from hccl_kit.ocr.data.pages.pages import Region

ILLEGIBLE = "###"
"""The transcription of an illegible text in label files for training."""
MAX_FILE_BYTES = 1 << 29
"""Limit for a file with the labels of all images; TextOCR's has 272 MB."""
MAX_NAME_BYTES = 255
NOT_IN_LABELS = ("Cc", "Cs")
"""Unicode categories that a line of a label file cannot hold: control characters and surrogates."""

_NUMBER = re.compile(r"\s*[+-]?[0-9]{1,9}(\.[0-9]{0,20})?([eE][+-]?[0-9]{1,2})?\s*")
T = TypeVar("T")


class Marked(NamedTuple):
    """A page: its image, the regions that can be used, and `place: reason` for each one that cannot."""

    image: Path
    regions: list[Region]
    left_out: list[str]


def marked(
    place: str, image: Callable[[], Path], rows: Callable[[], Iterable[tuple[str, T]]], parse: Callable[[T], Region]
) -> Marked | str:
    """The page of these rows, each with its place; `place: reason` if its image or its rows cannot be read."""
    regions, left_out = [], []
    try:
        path = image()
        for at, row in rows():
            try:
                regions.append(parse(row))
            except BadSampleError as error:
                left_out.append(f"{at}: {error}")
    except (BadSampleError, KitError) as error:
        return str(error) if isinstance(error, KitError) else f"{place}: {error}"
    return Marked(path, regions, left_out)


def read_pairs(
    labels: Path,
    images: Path,
    suffixes: Sequence[str],
    rows_of: Callable[[Path], Iterable[tuple[str, T]]],
    parse: Callable[[T], Region],
    *,
    image_stem: Callable[[str], str] = str,
) -> Iterator[Marked | str]:
    """The page of each of `pairs`, `path: reason` for one that cannot be used; `rows_of` reads a label file."""
    for pair in pairs(labels, images, suffixes, image_stem):
        if isinstance(pair, str):
            yield pair
        else:
            label, image = pair
            yield marked(f"{label}", partial(Path, image), partial(rows_of, label), parse)


def find_image(images: Path, name: Any) -> Path:
    """The image that a label names: its path below `images`, or its file name in `images`.

    Labels name train/a.jpg, and `images` may be the folder that holds train, or train itself. Raises BadSampleError for
    a name that leads elsewhere, and if there is no such file.
    """
    path = image_path(images, name)
    for place in (images / path, images / path.name) if path.name else ():
        if place.is_file():
            return place
    raise BadSampleError(f"{images} has no image {name}")


def image_path(images: Path, name: Any) -> PurePosixPath:
    """The path below `images` that a label names. Raises BadSampleError if it is not a name, or leads elsewhere."""
    if not isinstance(name, str) or not name.strip() or any(category(mark) in NOT_IN_LABELS for mark in name):
        raise BadSampleError(f"not the name of an image: {str(name)[:60]!r}")
    path = PurePosixPath(name)
    if name.startswith("/") or ".." in path.parts or len(name.encode()) > MAX_NAME_BYTES:
        raise BadSampleError(f"the image {name[:60]!r} is not in {images}")
    return path


def legible(text: Any) -> str:
    """The text of a label. Raises BadSampleError if it is missing, blank, or holds control characters."""
    if not isinstance(text, str) or not text.strip():
        raise BadSampleError(f"text is missing or blank: {str(text)[:60]!r}")
    if any(category(mark) in NOT_IN_LABELS for mark in text):
        raise BadSampleError(f"control characters in the text {text[:60]!r}")
    return text


def numbers(fields: Iterable[str]) -> list[float]:
    """The fields of a row as floats. Raises BadSampleError if one is not a number."""
    values = []
    for field in fields:
        if not _NUMBER.fullmatch(field):
            raise BadSampleError(f"not a number: {field[:60]!r}")
        values.append(float(field))
    return values


def corners(values: Sequence[Any]) -> list[tuple[float, float]]:
    """The polygon x1, y1, x2, y2, ..., clockwise on the screen and from its first corner on.

    Raises BadSampleError if it has fewer than three corners or no area, or if a value is not a valid coordinate.
    """
    if len(values) % 2 or not 3 <= len(values) // 2 <= MAX_CORNERS:
        raise BadSampleError(f"a polygon needs x and y of 3 to {MAX_CORNERS} corners, found {len(values)} numbers")
    for value in values:
        if type(value) not in (int, float) or not abs(value) <= MAX_COORDINATE:
            raise BadSampleError(f"not a valid coordinate: {str(value)[:60]}")
    points = list(zip(values[::2], values[1::2], strict=True))
    area = sum(x * below - right * y for (x, y), (right, below) in zip(points, [*points[1:], points[0]], strict=True))
    if not area:
        raise BadSampleError(f"a polygon without area: {str(points)[:60]}")
    return points if area > 0 else [points[0], *reversed(points[1:])]


def box(values: Sequence[Any]) -> list[tuple[float, float]]:
    """The corners of the upright rectangle left, top, right, bottom. Raises BadSampleError as `corners` does."""
    if len(values) != 4:
        raise BadSampleError(f"a box needs 4 numbers, found {len(values)}")
    left, top, right, bottom = values
    return corners([left, top, right, top, right, bottom, left, bottom])


def turned(width: float, height: float, angle: float, *, at: tuple[float, float]) -> list[tuple[float, float]]:
    """The corners of a rectangle rotated about its centre by `angle`; before, its upper left corner is `at`.

    The angle is in radians, clockwise on the screen.
    """
    sine, cosine = math.sin(angle), math.cos(angle)
    middle_x, middle_y = at[0] + width / 2, at[1] + height / 2
    sides = ((-width, -height), (width, -height), (width, height), (-width, height))
    turned_sides = [((x * cosine - y * sine) / 2, (x * sine + y * cosine) / 2) for x, y in sides]
    return corners([round(value, 2) for x, y in turned_sides for value in (middle_x + x, middle_y + y)])
