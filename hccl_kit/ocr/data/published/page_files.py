"""Data sets with a label file for each page, but for those of ICDAR 2015's form."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from hccl_kit.base.bounded_file import read_bounded, read_text
from hccl_kit.ocr.data.pages.page_labels import MAX_PAGE_BYTES, Form, json_of, parse_rows, read_folder, regions_of
from hccl_kit.ocr.data.pages.pages import Page, Region
from hccl_kit.ocr.data.published import xml_file
from hccl_kit.ocr.data.samples import BadSampleError

ILLEGIBLE = "###"
UNKNOWN = ""
"""The text of a region whose data set has no texts: it is found, and not read."""

_NUMBER = re.compile(r"-?[0-9]{1,9}(\.[0-9]*)?")
_ENTRY = re.compile(
    r"x:\s*\[\[(?P<x>[0-9\s.-]*)\]\],\s*y:\s*\[\[(?P<y>[0-9\s.-]*)\]\],.*?transcriptions:\s*\[(?P<text>.*)\]\s*",
    re.DOTALL,
)


def mlt2017(labels: Path, images: Path) -> Iterator[Page | str]:
    """ICDAR 2017 MLT: `gt_img_1.txt` with rows `x1,y1,...,x4,y4,script,text`."""
    return read_folder(labels, images, Form(_mlt, _without("gt_")))


def rctw17(labels: Path, images: Path) -> Iterator[Page | str]:
    """RCTW-17: `image_0.txt` with rows `x1,y1,...,x4,y4,difficult,"text"`; a difficult text is ignored."""
    return read_folder(labels, images, Form(_rctw, _same, shown="{}.txt"))


def casia10k(labels: Path, images: Path) -> Iterator[Page | str]:
    """CASIA-10K: `PAL00001.txt` in GBK with rows `x1,y1,...,x4,y4,text`."""
    return read_folder(labels, images, Form(_casia, _same, shown="{}.txt"))


def td500(labels: Path, images: Path) -> Iterator[Page | str]:
    """MSRA-TD500: `IMG_0059.gt` with rows `index difficult x y width height angle`, in radians and without a text.

    x and y are the corner on the top left before the rectangle is turned around its centre.
    """
    return read_folder(labels, images, Form(_td500, _same, (".gt",), "{}.gt"))


def total_text(labels: Path, images: Path) -> Iterator[Page | str]:
    """Total-Text: `poly_gt_img1.txt` with entries `x: [[...]], y: [[...]], ornt: [...], transcriptions: [u'text']`."""
    return read_folder(labels, images, Form(_total_text, _without("poly_gt_", "gt_"), shown="poly_gt_{}.txt"))


def ctw1500(labels: Path, images: Path) -> Iterator[Page | str]:
    """SCUT-CTW1500: `0001.xml` in the training set, `0001001.txt` with rows `x1,y1,...,x14,y14,####text` in the test.

    The names of the latter have three zeros more than those of the images.
    """
    form = Form(_ctw, lambda stem: stem[3:] if len(stem) == 7 and stem.startswith("000") else stem, (".txt", ".xml"))
    return read_folder(labels, images, form._replace(shown="000{}.txt"))


def funsd(labels: Path, images: Path) -> Iterator[Page | str]:
    """FUNSD: `NAME.json` with a list `form` of parts, each with its words, their boxes and texts."""
    return read_folder(labels, images, Form(_funsd, _same, (".json",), "{}.json"))


def _same(stem: str) -> str:
    return stem


def _without(*prefixes: str) -> partial[str]:
    return partial(_shorter, prefixes)


def _shorter(prefixes: Sequence[str], stem: str) -> str:
    for prefix in prefixes:
        if stem.startswith(prefix):
            return stem.removeprefix(prefix)
    return stem


def _mlt(path: Path) -> list[Region]:
    regions = []
    for number, (text, corners) in enumerate(parse_rows(read_text(path, MAX_PAGE_BYTES)), 1):
        _, comma, rest = text.partition(",")
        if not comma:
            raise BadSampleError(f"region {number}: expected x1,...,y4,script,text, found no text after {text[:40]!r}")
        regions.append((rest, corners))
    return regions


def _rctw(path: Path) -> list[Region]:
    regions = []
    for number, (text, corners) in enumerate(parse_rows(read_text(path, MAX_PAGE_BYTES)), 1):
        difficult, comma, rest = text.partition(",")
        if not comma or difficult.strip() not in ("0", "1"):
            raise BadSampleError(f'region {number}: expected 0 or 1 and "text", found {text[:40]!r}')
        quoted = rest.strip().removeprefix('"').removesuffix('"')
        regions.append((ILLEGIBLE if difficult.strip() == "1" else quoted, corners))
    return regions


def _casia(path: Path) -> list[Region]:
    try:
        return parse_rows(read_bounded(path, MAX_PAGE_BYTES).decode("gb18030"))
    except UnicodeDecodeError as error:
        raise BadSampleError(f"{path.name} is not text in GBK: {error}") from error


def _td500(path: Path) -> list[Region]:
    regions: list[Region] = []
    for number, line in enumerate(read_text(path, MAX_PAGE_BYTES).splitlines(), 1):
        fields = line.split()
        if not fields:
            continue
        if len(fields) != 7 or not all(map(_NUMBER.fullmatch, fields)):
            raise BadSampleError(f"line {number}: expected index difficult x y width height angle, found {line[:60]!r}")
        left, top, width, height, angle = map(float, fields[2:])
        regions.append((ILLEGIBLE if fields[1] == "1" else UNKNOWN, turned(left, top, width, height, angle)))
    return regions


def turned(left: float, top: float, width: float, height: float, angle: float) -> list[list[float]]:
    """The corners of a rectangle, from the top left clockwise, turned around its centre by `angle` in radians."""
    x, y, sine, cosine = left + width / 2, top + height / 2, math.sin(angle), math.cos(angle)
    around = [(-width / 2, -height / 2), (width / 2, -height / 2), (width / 2, height / 2), (-width / 2, height / 2)]
    return [[round(x + cosine * dx - sine * dy, 2), round(y + cosine * dy + sine * dx, 2)] for dx, dy in around]


def _total_text(path: Path) -> list[Region]:
    """An entry may go on in the next line."""
    regions: list[Region] = []
    for number, entry in enumerate(re.split(r"\n(?=x:)", read_text(path, MAX_PAGE_BYTES).strip()), 1):
        found = _ENTRY.fullmatch(entry)
        if found is None:
            raise BadSampleError(
                f"entry {number}: expected x: [[...]], y: [[...]], ... transcriptions: [...], found {entry[:60]!r}"
            )
        text = found["text"].strip().removeprefix("u")
        if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
            text = text[1:-1]
        regions.append((text, _corners(f"entry {number}", found["x"].split(), found["y"].split())))
    return regions


def _ctw(path: Path) -> list[Region]:
    return _ctw_xml(path) if path.suffix.lower() == ".xml" else _ctw_rows(path)


def _ctw_rows(path: Path) -> list[Region]:
    regions: list[Region] = []
    for number, line in enumerate(read_text(path, MAX_PAGE_BYTES).split("\n"), 1):
        points, mark, text = line.removesuffix("\r").partition(",####")
        if mark:
            values = points.split(",")
            regions.append((text, _corners(f"line {number}", values[::2], values[1::2])))
        elif line.strip():
            raise BadSampleError(f"line {number}: expected x1,y1,...,####text, found {line[:60]!r}")
    return regions


def _ctw_xml(path: Path) -> list[Region]:
    regions: list[Region] = []
    for number, box in enumerate(xml_file.root(path, MAX_PAGE_BYTES).iter("box"), 1):
        values = (box.findtext("segs") or "").split(",")
        regions.append((box.findtext("label") or "", _corners(f"box {number}", values[::2], values[1::2])))
    return regions


def _corners(place: str, x: Sequence[str], y: Sequence[str]) -> list[list[float]]:
    if len(x) != len(y) or len(x) < 3 or not all(_NUMBER.fullmatch(value.strip()) for value in (*x, *y)):
        raise BadSampleError(f"{place}: expected three or more corners, found x {x[:4]}, y {y[:4]}")
    return [[float(one), float(other)] for one, other in zip(x, y, strict=True)]


def _funsd(path: Path) -> list[Region]:
    form = json_of(read_text(path, MAX_PAGE_BYTES))
    parts = form.get("form") if isinstance(form, dict) else None
    if not isinstance(parts, list):
        raise BadSampleError(f'expected {{"form": [...]}}, found {str(form)[:60]}')
    words = [word for part in parts if isinstance(part, dict) for word in part.get("words") or ()]
    return regions_of([_word(word) for word in words])


def _word(word: Any) -> dict[str, Any]:
    box = word.get("box") if isinstance(word, dict) else None
    if not isinstance(box, list) or len(box) != 4:
        raise BadSampleError(f'expected a word {{"box": [x1, y1, x2, y2], "text": ...}}, found {str(word)[:60]}')
    left, top, right, bottom = box
    corners = [[left, top], [right, top], [right, bottom], [left, bottom]]
    return {"transcription": word.get("text"), "points": corners}
