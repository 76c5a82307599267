"""The labels of SynthText (Gupta, Vedaldi, Zisserman 2016): one MATLAB file for all images.

`imnames` holds the paths, `wordBB` the corners (2, 4, n) of the words of each image, `txt` their texts, separated by
white space. MindOCR's gt_processed.mat has the same format with fewer variables.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data import mat_file
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


def _page(path: Path, corners: object, texts: object) -> Page:
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
