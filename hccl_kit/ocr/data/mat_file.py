"""Variables of MATLAB files up to version 7, as scipy reads them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data.image_file import open_image
from hccl_kit.ocr.data.samples import BadSampleError, Sample
from hccl_kit.ocr.file_errors import cannot_read


def read(path: Path, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Those of the variables `names` that the file has and that are arrays: cells of type object, or structures.

    Raises KitError if the file is damaged, not a regular file, or not a MATLAB file up to version 7.
    """
    try:
        with open_image(Sample(path)) as (file, _):
            return _variables(path, file, names)
    except BadSampleError as error:
        raise cannot_read(path, error) from error


def _variables(path: Path, file: BinaryIO, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    from scipy.io import loadmat  # noqa: PLC0415 - heavy, and few data sets need it

    file.seek(126)
    order = "be" if file.read(2) == b"MI" else "le"  # scipy would cut characters of 16 bits to 8
    try:
        variables = loadmat(file, variable_names=list(names), uint16_codec=f"utf-16-{order}")
    except Exception as error:  # damage may raise anything
        raise KitError(
            "ocr.mat-file.damaged-not-matlab",
            "{path} is damaged or not a MATLAB file: {reason}",
            fix="get it again; a file of MATLAB 7.3 must be saved as version 7 (save -v7)",
            path=path,
            reason=f"{type(error).__name__}: {error}"[:200],
        ) from error
    return {name: value for name, value in variables.items() if isinstance(value, np.ndarray)}


def rows(value: object) -> list[str] | None:
    """The rows of an array of characters; None for anything else, and for characters that could not be decoded."""
    if not isinstance(value, np.ndarray) or value.dtype.kind != "U" or value.ndim != 1:
        return None
    texts: list[str] = value.tolist()
    return None if any("\ufffd" in row for row in texts) else texts


def text(value: object) -> str | None:
    """An array of characters with one row; None for anything else."""
    texts = rows(value)
    return texts[0] if texts and len(texts) == 1 else None
