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
from hccl_kit.ocr.data.pages.pages import Page, checked_page
from hccl_kit.ocr.data.samples import BadSampleError

NAMES, CORNERS, TEXTS = "imnames", "wordBB", "txt"
MAX_BYTES = 4 << 30
MAX_PAGES = 10_000_000


def read_mat(path: Path, images: Path) -> Iterator[Page | str]:
    """A page for each image, `path: reason` for one that cannot be used. Raises KitError if the file is not valid.

    No text is ignored: transcriptions of synthetic texts are always legible.
    """
    for name, corners, texts in zip(*_columns(path), strict=True):
        try:
            place = images / _text(name)
        except BadSampleError as error:
            yield f"{path}: {error}"
            continue
        try:
            yield _page(place, corners, texts)
        except (BadSampleError, KitError) as error:
            yield f"{place}: {error}"


def _columns(path: Path) -> list[NDArray[Any]]:
    from scipy.io import loadmat, whosmat  # noqa: PLC0415  # a third of a second, and only for such files

    try:
        if not path.is_file() or path.stat().st_size > MAX_BYTES:
            raise KitError(f"{path} is not a regular file of at most {MAX_BYTES} bytes")
        shapes = {name: shape for name, shape, _ in whosmat(str(path), appendmat=False)}
        _assert_columns(path, shapes)
        rows = loadmat(str(path), appendmat=False, variable_names=[NAMES, CORNERS, TEXTS])
    except KitError:
        raise
    except Exception as error:  # scipy's reader may raise anything for a damaged file
        reason = str(error).strip().split("\n")[0][:200] or type(error).__name__
        raise KitError(f"{path} is damaged or not a MATLAB file: {reason}") from error
    return [rows[name].reshape(-1) for name in (NAMES, CORNERS, TEXTS)]


def _assert_columns(path: Path, shapes: dict[str, tuple[int, ...]]) -> None:
    """Raises KitError if a variable is missing or their lengths differ, without reading them."""
    counts = {name: int(np.prod(shapes[name])) for name in (NAMES, CORNERS, TEXTS) if name in shapes}
    missing = [name for name in (NAMES, CORNERS, TEXTS) if name not in counts]
    if missing:
        raise KitError(f"{path} has no variable {', '.join(missing)}", hint="label_file is SynthText's gt.mat")
    if len(set(counts.values())) > 1 or not 0 < counts[NAMES] <= MAX_PAGES:
        sizes = ", ".join(f"{count} {name}" for name, count in counts.items())
        raise KitError(f"{path} holds {sizes}; accepted: equally many of each, from 1 to {MAX_PAGES}")


def _page(path: Path, corners: Any, texts: Any) -> Page:
    words = [word for text in np.ravel(texts) for word in str(text).split()]
    points = np.asarray(corners)
    if points.dtype.kind not in "fiu" or points.ndim not in (2, 3) or points.shape[:2] != (2, 4):
        raise BadSampleError(f"{CORNERS} must be 2 x 4 x words, found {points.dtype} {points.shape}")
    quads = points.reshape(2, 4, -1).transpose(2, 1, 0)
    if len(quads) != len(words):
        raise BadSampleError(f"{len(quads)} boxes and {len(words)} words")
    page = checked_page(path, [(word, quad.tolist()) for word, quad in zip(words, quads, strict=True)])
    return replace(page, ignored=np.zeros(len(words), bool))


def _text(value: Any) -> str:
    """A text in nested MATLAB arrays."""
    parts = np.ravel(value)
    if len(parts) != 1 or not isinstance(parts[0], str) or "\0" in parts[0]:
        raise BadSampleError(f"{NAMES} must hold texts, found {str(value)[:60]}")
    return str(parts[0])
