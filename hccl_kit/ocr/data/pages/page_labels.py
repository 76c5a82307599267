"""The label files of text detection: folders in the format of ICDAR 2015, MindOCR's det_gt.txt, and SynthText.

SynthText (Gupta, Vedaldi, Zisserman 2016) has one MATLAB file for all images: `imnames` holds the paths, `wordBB` the
corners (2, 4, n) of the words of each image, `txt` their texts, separated by white space; MindOCR's gt_processed.mat is
the same with fewer variables. A page whose label cannot be read is left out and reported.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hccl_kit.base.bounded_file import read_text
from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.ocr.data import mat_file
from hccl_kit.ocr.data.image_paths import pairs
from hccl_kit.ocr.data.page_split import between, numbered
from hccl_kit.ocr.data.pages.pages import Page, Region, checked_page
from hccl_kit.ocr.data.samples import BadSampleError, numbered_lines, share, sources

SYNTH_TEXT = "SynthTextDataset"
MAX_PAGE_BYTES = 1 << 22

_NUMBER = re.compile(r"\s*-?[0-9]{1,9}(\.[0-9]*)?\s*")


def read_pages(dataset: Mapping[str, Any]) -> tuple[list[Page], list[str]]:
    """The pages of a `dataset` section, and a line `path: reason` for each page that is left out.

    `label_file` is a folder with a file for each image, or a file of lines `path TAB json`; `data_dir` is the folder
    of the images. Both may be lists, with a `sample_ratio` for each; `split` as in `line_sources.read_lines`.
    SynthTextDataset: see `synth_text`. Raises KitError if a file is missing or no page can be used.
    """
    pages: list[Page] = []
    bad: list[str] = []
    for label, folder, ratio in sources(dataset):
        read = _reader(dataset, label)
        rows = list(read(label, folder))
        for number in share(len(rows), ratio):
            row = rows[number]
            if isinstance(row, Page):
                pages.append(row)
            else:
                bad.append(row)
    if pages and dataset.get("split"):
        numbers = numbered(page.path for page in pages)
        pages = [pages[number] for number in between(numbers, dataset["split"], seed=dataset.get("split_seed", 0))]
        if not pages:
            raise KitError("ocr.page-labels.split", "split leaves no page", fix="another split_seed or a larger share")
    if not pages:
        first = Message("ocr.page-labels.first", "; the first: {reason}", reason=bad[0]) if bad else ""
        raise KitError(
            "ocr.page-labels.no-page-can",
            "no page of {label_file} can be used{first}",
            label_file=dataset["label_file"],
            first=first,
        )
    return pages, bad


def _reader(dataset: Mapping[str, Any], label: Path) -> Callable[[Path, Path], Iterator[Page | str]]:
    if dataset.get("type") == SYNTH_TEXT:
        return read_mat
    return read_folder if label.is_dir() else read_label_file


def read_folder(labels: Path, images: Path) -> Iterator[Page | str]:
    """A page for each image `NAME.jpg` whose labels are `gt_NAME.txt` or `NAME.txt`; `path: reason` for the others."""
    for pair in pairs(labels, images, [".txt"], lambda stem: stem.removeprefix("gt_")):
        if isinstance(pair, str):
            yield pair
        else:
            yield _page(pair[1], pair[0], lambda path: parse_rows(read_text(path, MAX_PAGE_BYTES)))


def read_label_file(path: Path, images: Path) -> Iterator[Page | str]:
    """A page for each line `path TAB [{"transcription": text, "points": [[x, y], ...]}, ...]`; else `path: reason`."""
    for number, line in numbered_lines(path):
        name, tab, label = line.partition("\t")
        if tab and name:
            yield _page(images / name, label, parse_json)
        else:
            yield f"{path}:{number}: expected path TAB regions, found {line[:60]!r}"


def parse_rows(text: str) -> list[Region]:
    """The regions of an ICDAR file: rows `x1,y1,x2,y2,x3,y3,x4,y4,text`; the text may contain commas."""
    regions: list[Region] = []
    for number, line in enumerate(text.split("\n"), 1):
        row = line.removesuffix("\r")
        if not row.strip():
            continue
        *fields, transcription = row.split(",", 8)
        if len(fields) != 8 or not all(map(_NUMBER.fullmatch, fields)):
            raise BadSampleError(f"line {number}: expected x1,y1,x2,y2,x3,y3,x4,y4,text, found {row[:60]!r}")
        values = list(map(float, fields))
        regions.append((transcription, [values[n : n + 2] for n in range(0, 8, 2)]))
    return regions


def parse_json(text: str) -> list[Region]:
    """The regions of a line of det_gt.txt."""
    if len(text) > MAX_PAGE_BYTES:
        raise BadSampleError(f"regions of {len(text)} characters; accepted: up to {MAX_PAGE_BYTES}")
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadSampleError(f"the regions are not JSON: {error}") from error
    if not isinstance(rows, list):
        raise BadSampleError(f"expected a JSON list of regions, found {text[:60]!r}")
    return [_region(row, f"region {number}") for number, row in enumerate(rows, 1)]


def _region(row: Any, place: str) -> Region:
    if not isinstance(row, dict) or not isinstance(row.get("transcription"), str):
        raise BadSampleError(f"{place} has no transcription: {str(row)[:60]}")
    points = row.get("points")
    corners = points if isinstance(points, list) else []
    if len(corners) < 3 or not all(isinstance(p, list) and len(p) == 2 and all(map(_is_number, p)) for p in corners):
        raise BadSampleError(f"{place}: points must be three or more [x, y], found {str(points)[:60]}")
    return row["transcription"], corners


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _page(path: Path, label: Any, parse: Any) -> Page | str:
    try:
        regions = parse(label)
        return checked_page(path, regions)
    except (BadSampleError, KitError) as error:
        return f"{path}: {error}"


NAMES, CORNERS, TEXTS = "imnames", "wordBB", "txt"
MAX_PAGES = 10_000_000


def read_mat(path: Path, images: Path) -> Iterator[Page | str]:
    """A page for each image, `path: reason` for one that cannot be used. Raises KitError if the file is not valid.

    No text is ignored: transcriptions of synthetic texts are always legible.
    """
    for number, (name, corners, texts) in enumerate(zip(*_columns(path), strict=True), 1):
        try:
            place = images / _name(name)
        except BadSampleError as error:
            yield f"{path}: image {number}: {error}"
            continue
        try:
            yield _page_of_mat(place, corners, texts)
        except (BadSampleError, KitError) as error:
            yield f"{place}: {error}"


def _columns(path: Path) -> list[NDArray[Any]]:
    """The cells of `imnames`, `wordBB` and `txt`. Raises KitError if one is missing or their lengths differ."""
    columns = mat_file.read(path, (NAMES, CORNERS, TEXTS))
    missing = [name for name in (NAMES, CORNERS, TEXTS) if name not in columns]
    if missing:
        raise KitError(
            "ocr.synth-text.no-variable",
            "{path} has no variable {missing}",
            fix="label_file is SynthText's gt.mat",
            path=path,
            missing=", ".join(missing),
        )
    for name, column in columns.items():
        if column.dtype != object or not 0 < column.size <= MAX_PAGES:
            raise KitError(
                "ocr.synth-text.not-array-1",
                "{path}: {name} is not an array of 1 to {max_pages} cells",
                path=path,
                name=name,
                max_pages=MAX_PAGES,
            )
    counts = {name: columns[name].size for name in (NAMES, CORNERS, TEXTS)}
    if len(set(counts.values())) > 1:
        sizes = ", ".join(f"{count} {name}" for name, count in counts.items())
        raise KitError(
            "ocr.synth-text.holds-expected-same",
            "{path} holds {sizes}; expected the same number of each",
            path=path,
            sizes=sizes,
        )
    return [columns[name].ravel(order="F") for name in counts]


def _page_of_mat(path: Path, corners: object, texts: object) -> Page:
    rows = mat_file.rows(texts)
    if rows is None:
        raise BadSampleError(f"{TEXTS} must hold texts")
    words = [word for row in rows for word in row.split()]
    quads = _quads(corners)
    if len(quads) != len(words):
        raise BadSampleError(f"{len(quads)} boxes and {len(words)} words; expected the same number of each")
    page = checked_page(path, [(word, quad.tolist()) for word, quad in zip(words, quads, strict=True)])
    return replace(page, ignored=np.zeros(len(words), bool))


def _quads(corners: object) -> NDArray[Any]:
    """Corners (words, 4, 2)."""
    if not isinstance(corners, np.ndarray) or corners.dtype.kind not in "fiu":
        raise BadSampleError(f"{CORNERS} must be 2 x 4 x words, found no numbers")
    if corners.ndim not in (2, 3) or corners.shape[:2] != (2, 4):
        raise BadSampleError(f"{CORNERS} must be 2 x 4 x words, found {' x '.join(map(str, corners.shape))}")
    return corners.reshape(2, 4, -1).transpose(2, 1, 0)


def _name(value: object) -> str:
    name = mat_file.text(value)
    if not name or "\0" in name:
        raise BadSampleError(f"{NAMES} must hold texts, found {(mat_file.rows(value) or [])[:2] or 'none'}")
    return name
