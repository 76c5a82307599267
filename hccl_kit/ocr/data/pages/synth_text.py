"""The labels of SynthText (Gupta, Vedaldi, Zisserman 2016): one MATLAB file for all images.

`imnames` holds the paths, `wordBB` the corners (2, 4, n) of the words of each image, `txt` their texts, separated by
white space. MindOCR's gt_processed.mat has the same format with fewer variables.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data.mat_file import Array, cells
from hccl_kit.ocr.data.pages.pages import Page, checked_page
from hccl_kit.ocr.data.samples import BadSampleError

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
            yield _page(place, corners, texts)
        except (BadSampleError, KitError) as error:
            yield f"{place}: {error}"


def _columns(path: Path) -> list[list[Array | None]]:
    """The cells of `imnames`, `wordBB` and `txt`. Raises KitError if one is missing or their lengths differ."""
    columns = cells(path, (NAMES, CORNERS, TEXTS), MAX_PAGES)
    missing = [name for name in (NAMES, CORNERS, TEXTS) if name not in columns]
    if missing:
        raise KitError(f"{path} has no variable {', '.join(missing)}", hint="label_file is SynthText's gt.mat")
    counts = {name: len(columns[name]) for name in (NAMES, CORNERS, TEXTS)}
    if len(set(counts.values())) > 1:
        sizes = ", ".join(f"{count} {name}" for name, count in counts.items())
        raise KitError(f"{path} holds {sizes}; expected the same number of each")
    return [columns[name] for name in counts]


def _page(path: Path, corners: Array | None, texts: Array | None) -> Page:
    rows = texts.rows() if texts else None
    if rows is None:
        raise BadSampleError(f"{TEXTS} must hold texts")
    words = [word for row in rows for word in row.split()]
    shape = corners.shape if corners else ()
    if corners is None or corners.is_text or len(shape) not in (2, 3) or shape[:2] != (2, 4):
        raise BadSampleError(f"{CORNERS} must be 2 x 4 x words, found {' x '.join(map(str, shape)) or 'no numbers'}")
    if len(corners.data) != math.prod(shape) * np.dtype(corners.kind).itemsize:
        raise BadSampleError(f"{CORNERS} is damaged: its data does not match its dimensions")
    quads = np.frombuffer(corners.data, corners.kind).reshape(-1, 4, 2)  # column-major order
    if len(quads) != len(words):
        raise BadSampleError(f"{len(quads)} boxes and {len(words)} words; expected the same number of each")
    page = checked_page(path, [(word, quad.tolist()) for word, quad in zip(words, quads, strict=True)])
    return replace(page, ignored=np.zeros(len(words), bool))


def _name(value: Array | None) -> str:
    rows = (value and value.rows()) or []
    if len(rows) != 1 or not rows[0] or "\0" in rows[0]:
        raise BadSampleError(f"{NAMES} must hold texts, found {rows[:2] or 'none'}")
    return rows[0]
