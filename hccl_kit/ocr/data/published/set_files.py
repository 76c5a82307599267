"""Data sets with one label file for all their pages, in JSON or XML."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from hccl_kit.base.bounded_file import read_bounded
from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data.pages.page_labels import page_or_reason, regions_of
from hccl_kit.ocr.data.pages.pages import Page, Region
from hccl_kit.ocr.data.published import xml_file
from hccl_kit.ocr.data.published.page_files import ILLEGIBLE
from hccl_kit.ocr.data.samples import BadSampleError

MAX_BYTES = 1 << 30
"""Of a label file; the largest that is published has 300 MB."""


def text_ocr(labels: Path, images: Path) -> Iterator[Page | str]:
    """TextOCR: `imgs`, `anns` with `points` and `utf8_string`, and `imgToAnns` between them."""
    return _of_annotations(labels, images, "points", split=None)


def coco_text(labels: Path, images: Path, split: str | None = None) -> Iterator[Page | str]:
    """COCO-Text 1 and 2: as TextOCR, with `polygon` or `mask`, and a `set` (train, val, test) for each image.

    Text that is not legible is ignored.
    """
    return _of_annotations(labels, images, "mask", split=split)


def lsvt(labels: Path, images: Path) -> Iterator[Page | str]:
    """ICDAR 2019 LSVT and ArT: `{"gt_0": [{"transcription", "points", "illegibility"}, ...], ...}`."""
    for name, rows in _json(labels).items():
        found = _image_of(images, name)
        yield page_or_reason(found or images / f"{name}.jpg", (rows, found), _lsvt)


def svt(labels: Path, images: Path) -> Iterator[Page | str]:
    """Street View Text: `train.xml` with the words of each image as upright rectangles."""
    for number, image in enumerate(xml_file.root(labels, MAX_BYTES).iter("image"), 1):
        name = (image.findtext("imageName") or "").strip()
        rectangles = [
            (rectangle.findtext("tag") or "", dict(rectangle.attrib)) for rectangle in image.iter("taggedRectangle")
        ]
        place = images / name if name else labels / f"image {number}"
        yield page_or_reason(place, (images, name, rectangles), _svt)


def inside(images: Path, name: object) -> Path:
    """The image of that name, which may hold folders, or else the one of its last part, as MindOCR looks for it.

    Raises BadSampleError if there is none or the name leads out of the folder.
    """
    parts = PurePosixPath(name).parts if isinstance(name, str) and "\0" not in name else ()
    if not parts or ".." in parts or parts[0] == "/":
        raise BadSampleError(f"{str(name)[:60]!r} is not the name of an image inside its folder")
    for path in (images.joinpath(*parts), images / parts[-1]):
        if path.is_file():
            return path
    raise BadSampleError("there is no such image")


def _of_annotations(labels: Path, images: Path, key: str, *, split: str | None) -> Iterator[Page | str]:
    whole = _json(labels)
    tables = [whole.get(name) for name in ("imgs", "anns", "imgToAnns")]
    if not all(isinstance(table, dict) for table in tables):
        raise KitError(f"{labels} lacks imgs, anns or imgToAnns", hint="name the JSON file of the data set")
    pictures, annotations, belonging = tables
    assert isinstance(pictures, dict)
    for number, picture in pictures.items():
        if split is not None and not (isinstance(picture, dict) and picture.get("set") == split):
            continue
        name = picture.get("file_name") if isinstance(picture, dict) else None
        shown = images / name if isinstance(name, str) else labels / f"image {number}"
        try:
            place = inside(images, name)
        except BadSampleError as error:
            yield f"{shown}: {error}"
            continue
        yield page_or_reason(place, (annotations, belonging, number, key), _annotated)


def _annotated(label: tuple[Mapping[str, Any], Mapping[str, Any], str, str]) -> list[Region]:
    annotations, belonging, number, key = label
    numbers = belonging.get(number)
    rows = []
    for each in numbers if isinstance(numbers, list) else ():
        found = annotations.get(str(each))
        if not isinstance(found, dict):
            raise BadSampleError(f"there is no annotation {str(each)[:40]}")
        points = found.get(key) or found.get("polygon")
        legible = found.get("legibility", "legible") == "legible"
        text = found.get("utf8_string", ILLEGIBLE) if legible else ILLEGIBLE
        rows.append({"transcription": text, "points": _pairs(points)})
    return regions_of(rows)


def _pairs(points: object) -> object:
    """Points that are one flat list of x and y, two by two; others are left to be refused."""
    if isinstance(points, list) and len(points) % 2 == 0 and not any(isinstance(point, list) for point in points):
        return [points[place : place + 2] for place in range(0, len(points), 2)]
    return points


def _lsvt(label: tuple[object, Path | None]) -> list[Region]:
    rows, found = label
    if found is None:
        raise BadSampleError("there is no such image")
    regions = regions_of(rows)
    assert isinstance(rows, list)
    return [
        (ILLEGIBLE if row.get("illegibility") else text, corners)
        for row, (text, corners) in zip(rows, regions, strict=True)
    ]


def _image_of(images: Path, name: str) -> Path | None:
    """The image of a name without a suffix."""
    for suffix in (".jpg", ".png", ".jpeg"):
        try:
            return inside(images, name + suffix)
        except BadSampleError:
            continue
    return None


def _svt(label: tuple[Path, str, list[tuple[str, dict[str, str]]]]) -> list[Region]:
    images, name, rectangles = label
    inside(images, name)
    regions: list[Region] = []
    for number, (text, sides) in enumerate(rectangles, 1):
        try:
            left, top, width, height = (int(sides[side]) for side in ("x", "y", "width", "height"))
        except (KeyError, ValueError) as error:
            raise BadSampleError(f"rectangle {number}: expected x, y, width and height, found {sides}") from error
        right, bottom = left + width, top + height
        regions.append((text, [[left, top], [right, top], [right, bottom], [left, bottom]]))
    return regions


def _json(path: Path) -> dict[str, Any]:
    try:
        whole = json.loads(read_bounded(path, MAX_BYTES))
    except (ValueError, RecursionError) as error:
        raise KitError(f"{path} is not JSON: {error}") from error
    if not isinstance(whole, dict):
        raise KitError(f"{path} is not a JSON object", hint="name the JSON file of the data set")
    return whole
