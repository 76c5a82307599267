"""Sets whose labels are JSON: LSVT, TextOCR and COCO-Text with one file for all images, FUNSD with one for each."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hccl_kit.base.bounded_file import read_text
from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data.published.marked import (
    ILLEGIBLE,
    MAX_FILE_BYTES,
    Marked,
    box,
    corners,
    find_image,
    legible,
    marked,
    read_pairs,
)
from hccl_kit.ocr.data.samples import BadSampleError

if TYPE_CHECKING:
    from hccl_kit.ocr.data.pages.pages import Region

TEXTOCR_HIDDEN = "."


def load(path: Path) -> Any:
    """The content of a file. Raises KitError if it cannot be read or is not JSON."""
    try:
        return json.loads(read_text(path, MAX_FILE_BYTES))
    except (ValueError, RecursionError) as error:
        raise KitError("ocr.json-file.not-json", "{path} is not JSON: {reason}", path=path, reason=error) from error


def as_object(value: Any, place: str) -> dict[str, Any]:
    """Raises KitError if the value is not an object: nothing of its file can be read then."""
    if not isinstance(value, dict):
        raise KitError(
            "ocr.json-file.expected-json-object",
            "{place}: expected a JSON object, found {value}",
            place=place,
            value=str(value)[:60],
        )
    return value


def as_list(value: Any) -> list[Any]:
    """Raises BadSampleError if the value is not a list."""
    if not isinstance(value, list):
        raise BadSampleError(f"expected a JSON list, found {str(value)[:60]}")
    return value


def field(row: Any, name: str) -> Any:
    """The value of a key, None if it is missing. Raises BadSampleError if the row is not an object."""
    if not isinstance(row, dict):
        raise BadSampleError(f"expected a JSON object, found {str(row)[:60]}")
    return row.get(name)


def numbered(place: str, rows: Any) -> Iterator[tuple[str, Any]]:
    """Each row of a list with its place: `place` and a number. Raises BadSampleError if it is not a list."""
    return ((f"{place} {number}", row) for number, row in enumerate(as_list(rows), 1))


def lsvt(labels: Path, images: Path) -> Iterator[Marked | str]:
    """LSVT: {"gt_0": [{"transcription": text, "points": [[x, y], ...], "illegibility": bool}, ...]} for gt_0.jpg."""
    for name, rows in as_object(load(labels), f"{labels}").items():
        yield _page(labels, name, images, f"{name}.jpg", rows=rows, parse=_lsvt_region)


def textocr(labels: Path, images: Path) -> Iterator[Marked | str]:
    """TextOCR: `imgs`, `anns` and `imgToAnns`; the polygon of a region is `points`."""
    return _joined(labels, images, _textocr_region)


def cocotext(labels: Path, images: Path, part: str) -> Iterator[Marked | str]:
    """COCO-Text (cocotext.v2.json): as TextOCR, but the polygon is `mask`; `part` is train or val."""
    return _joined(labels, images, _cocotext_region, part)


def funsd(labels: Path, images: Path) -> Iterator[Marked | str]:
    """FUNSD: NAME.json with {"form": [{"words": [{"text": text, "box": [left, top, right, bottom]}, ...]}, ...]}."""
    return read_pairs(labels, images, [".json"], _funsd_words, _funsd_word)


def _funsd_words(label: Path) -> Iterator[tuple[str, Any]]:
    form = as_object(load(label), f"{label}").get("form")
    return numbered(f"{label}: word", [word for entity in as_list(form) for word in as_list(field(entity, "words"))])


def _joined(
    labels: Path, images: Path, parse: Callable[[Any], Region], part: str | None = None
) -> Iterator[Marked | str]:
    content = as_object(load(labels), f"{labels}")
    pages, regions, ids = (as_object(content.get(name), f"{labels}: {name}") for name in ("imgs", "anns", "imgToAnns"))
    for key, page in pages.items():
        if part is None or (isinstance(page, dict) and page.get("set") == part):
            name = page.get("file_name") if isinstance(page, dict) else None
            of_page = ids.get(key, [])
            known = [regions.get(str(number)) for number in of_page] if isinstance(of_page, list) else of_page
            yield _page(labels, key, images, name, rows=known, parse=parse)


def _page(
    labels: Path, key: str, images: Path, name: Any, *, rows: Any, parse: Callable[[Any], Region]
) -> Marked | str:
    place = f"{labels}: image {key[:60]}"
    return marked(place, partial(find_image, images, name), partial(numbered, f"{place}, region", rows), parse)


def _lsvt_region(row: Any) -> Region:
    points = as_list(field(row, "points"))
    if not all(isinstance(point, list) and len(point) == 2 for point in points):
        raise BadSampleError(f"points must be [x, y], found {str(points)[:60]}")
    text = ILLEGIBLE if row.get("illegibility") is True else legible(row.get("transcription"))
    return text, corners([value for point in points for value in point])


def _textocr_region(row: Any) -> Region:
    text = legible(field(row, "utf8_string"))
    return ILLEGIBLE if text == TEXTOCR_HIDDEN else text, corners(as_list(row.get("points")))


def _cocotext_region(row: Any) -> Region:
    is_legible = field(row, "legibility") == "legible" and "utf8_string" in row
    polygon = row.get("mask", row.get("polygon"))  # version 1.4, of the ICDAR challenge, says polygon
    return legible(row["utf8_string"]) if is_legible else ILLEGIBLE, corners(as_list(polygon))


def _funsd_word(row: Any) -> Region:
    return legible(field(row, "text")), box(as_list(row.get("box")))


cocotext_train, cocotext_val = (partial(cocotext, part=part) for part in ("train", "val"))
