"""Sets of words that are cut already: IIIT 5K-word."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

from hccl_kit.base.bounded_file import read_bounded
from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data.published.marked import find_image, legible
from hccl_kit.ocr.data.samples import BadSampleError

IIIT5K_VARIABLES = ("traindata", "testdata")
MAX_BYTES, MAX_EXPANDED_BYTES = 1 << 26, 1 << 28
"""Of the file of IIIT 5K, which has some megabytes, and of what its compressed parts expand to."""
MAX_WORDS = 100_000
_HEADER, _TAG, _COMPRESSED = 128, 8, 15
"""Of MATLAB's level 5 files: bytes of the header, bytes of the tag of an element, and the type of a compressed one."""


def iiit5k(labels: Path, images: Path) -> Iterator[tuple[str, str] | str]:
    """The path and the text of each word of traindata.mat or testdata.mat; `place: reason` for one that is left out.

    The file holds a structure array with the fields ImgName (train/1_1.png) and GroundTruth. Paths are below `images`.
    Raises KitError if the file is not of that form.
    """
    for number, row in enumerate(_iiit5k_rows(labels), 1):
        try:
            image = find_image(images, _plain(row["ImgName"]))
            yield image.relative_to(images).as_posix(), legible(_plain(row["GroundTruth"]))
        except BadSampleError as error:
            yield f"{labels}: word {number}: {error}"


def _iiit5k_rows(path: Path) -> Any:
    from scipy.io import loadmat, whosmat  # noqa: PLC0415  # a third of a second, and only for such files

    data = read_bounded(path, MAX_BYTES)
    if _expanded(data) > MAX_EXPANDED_BYTES:
        raise KitError(f"{path} expands to more than {MAX_EXPANDED_BYTES} bytes")
    try:
        shapes = {name: (shape, kind) for name, shape, kind in whosmat(BytesIO(data))}
        [name] = set(shapes).intersection(IIIT5K_VARIABLES) or [""]
        shape, kind = shapes.get(name, ((), ""))
        if kind != "struct" or not 0 < (count := _product(shape)) <= MAX_WORDS:
            raise KitError(
                f"{path} has no structure array {' or '.join(IIIT5K_VARIABLES)} of 1 to {MAX_WORDS} words",
                hint="--label_dir is traindata.mat or testdata.mat of IIIT 5K-word",
            )
        rows = loadmat(BytesIO(data), variable_names=[name])[name].reshape(-1)
    except KitError:
        raise
    except Exception as error:  # scipy's reader may raise anything for a damaged file
        reason = str(error).strip().split("\n")[0][:200] or type(error).__name__
        raise KitError(f"{path} is damaged or not a MATLAB file: {reason}") from error
    if len(rows) != count or not {"ImgName", "GroundTruth"} <= set(rows.dtype.names or ()):
        raise KitError(f"{path}: {name} has no fields ImgName and GroundTruth")
    return rows


def _expanded(data: bytes) -> int:
    """The bytes that the compressed elements of a file expand to; counting stops above the limit."""
    total, at = 0, _HEADER
    order = "big" if data[126:128] == b"MI" else "little"
    while at + _TAG <= len(data) and total <= MAX_EXPANDED_BYTES:
        kind, size = (int.from_bytes(data[start : start + 4], order) for start in (at, at + 4))  # type: ignore[arg-type]
        if kind == _COMPRESSED:
            stream, rest = zlib.decompressobj(), data[at + _TAG : at + _TAG + size]
            try:
                while rest and not stream.eof and total <= MAX_EXPANDED_BYTES:
                    total += len(stream.decompress(rest, 1 << 20))
                    rest = stream.unconsumed_tail
            except zlib.error:
                break  # scipy says what is wrong
        at += _TAG + size
    return total


def _product(shape: tuple[int, ...]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


def _plain(value: Any) -> str | None:
    """The text of a cell; None if it holds anything else."""
    import numpy as np  # noqa: PLC0415  # after --help

    parts = np.ravel(value)
    return str(parts[0]) if len(parts) == 1 and isinstance(parts[0], str) else None
