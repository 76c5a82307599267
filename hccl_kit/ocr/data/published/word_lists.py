"""Data sets of words that are cut out already: a list of images and texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data.samples import numbered_lines

Rows = tuple[list[str], list[str]]
"""Rows `path TAB text`, and `place: reason` for what is left out."""
MAX_MAT_BYTES = 1 << 28


def ic15(path: Path) -> Rows:
    """ICDAR 2015: rows `word_1.png, "text"`; the quotes are not part of the text."""
    rows, left_out = [], []
    for number, row in numbered_lines(path):
        name, comma, text = (part.strip() for part in row.partition(","))
        if comma and name and len(text) > 1 and text[0] == text[-1] == '"':
            rows.append(f"{name}\t{text[1:-1]}")
        else:
            left_out.append(f'{path}:{number}: expected word_1.png, "text", found {row[:60]!r}')
    return rows, left_out


def iiit5k(path: Path) -> Rows:
    """IIIT 5K-word: `traindata.mat` or `testdata.mat`, a table with `ImgName` and `GroundTruth`."""
    rows, left_out = [], []
    for number, (name, text) in enumerate(_mat_rows(path), 1):
        found = [str(value[0]) if np.size(value) == 1 and isinstance(value[0], str) else "" for value in (name, text)]
        if all(found) and not any(sign in value for value in found for sign in "\t\n\r"):
            rows.append("\t".join(found))
        else:
            left_out.append(f"{path}: row {number} has no name or no text: {str(name)[:40]}, {str(text)[:40]}")
    return rows, left_out


def _mat_rows(path: Path) -> list[tuple[Any, Any]]:
    from scipy.io import loadmat, whosmat  # noqa: PLC0415  # a third of a second, and only for such files

    if not path.is_file() or path.stat().st_size > MAX_MAT_BYTES:
        raise KitError(f"{path} is not a regular file of at most {MAX_MAT_BYTES} bytes")
    try:
        names = [name for name, _, kind in whosmat(str(path), appendmat=False) if kind == "struct"]
        table = loadmat(str(path), appendmat=False, variable_names=names[:1])[names[0]].reshape(-1)
        return list(zip(table["ImgName"], table["GroundTruth"], strict=True))
    except Exception as error:  # scipy's reader may raise anything for a damaged file
        reason = str(error).strip().split("\n")[0][:200] or type(error).__name__
        raise KitError(f"{path} is damaged or not traindata.mat or testdata.mat of IIIT 5K-word: {reason}") from error
