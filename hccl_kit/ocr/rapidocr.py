"""The weights that the package `rapidocr` carries: the small networks of PP-OCRv6 (PaddleOCR, Apache-2.0) as ONNX.

The package is found by its metadata and never imported.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from hccl_kit.base.errors import KitError
from hccl_kit.base.extra import install_extra
from hccl_kit.base.message import Message

VERSION = "3.10.0"
FILES = {
    "rapidocr:rec": (
        "rapidocr/models/PP-OCRv6_rec_small.onnx",
        "6f327246b50388f3c176ae304bd95767ea6dc0c9ae92153ef8cbe210b3c14884",
    ),
    "rapidocr:cls": (
        "rapidocr/models/ch_ppocr_mobile_v2.0_cls_mobile.onnx",
        "e47acedf663230f8863ff1ab0e64dd2d82b838fceb5957146dab185a89d6215c",
    ),
    "rapidocr:det": (
        "rapidocr/models/PP-OCRv6_det_small.onnx",
        "090f04abcd9d9a7498bc4ebf677e4cb9bdce1fe4197ddb7e529f1ef44e1ff94f",
    ),
}
"""By the name of the source: the file in the package, and its SHA-256."""
INSTALL = install_extra("weights")


@cache
def path(name: str) -> Path:
    """The file of one of the names in FILES.

    Raises KitError if the package is not installed, or the file is not the known one.
    """
    inside, expected = FILES[name]
    try:
        package = metadata.distribution("rapidocr")
    except metadata.PackageNotFoundError:
        raise KitError(
            "ocr.rapidocr.package-rapidocr-not",
            "{name} is in the package rapidocr, which is not installed",
            hint=INSTALL,
            name=name,
        ) from None
    file = Path(str(package.locate_file(inside)))
    try:
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError as error:
        raise KitError(
            "ocr.rapidocr.rapidocr-no",
            "{name}: rapidocr {version} has no {inside}: {reason}",
            hint=INSTALL,
            name=name,
            version=package.version,
            inside=inside,
            reason=error.strerror,
        ) from error
    if digest != expected:
        raise KitError(
            "ocr.rapidocr.rapidocr-sha-256",
            "{name}: {file} of rapidocr {version} has the SHA-256 {digest}; that of {version_2} has {expected}",
            hint=Message(
                "ocr.rapidocr.rapidocr-sha-256.fix",
                "{install} installs {version}; name another file by its path",
                install=INSTALL,
                version=VERSION,
            ),
            name=name,
            file=file,
            version=package.version,
            digest=digest,
            version_2=VERSION,
            expected=expected,
        )
    return file


@cache
def characters(name: str) -> tuple[str, ...]:
    """The dictionary of `rapidocr:rec`, without the blank and the space. Raises KitError as `path` does."""
    model = imported_onnx(name).load(path(name), load_external_data=False)
    characters = listed_characters({row.key: row.value for row in model.metadata_props})
    if characters is None:
        raise KitError(
            "ocr.rapidocr.no-dictionary",
            "{name} has no dictionary",
            fix="accepted: rapidocr:rec, or a file with one character per line",
            name=name,
        )
    return characters


def imported_onnx(source: object) -> Any:
    """The package onnx, to read `source`. Raises KitError with the command to install it."""
    try:
        import onnx  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise KitError(
            "ocr.rapidocr.cannot-read-without",
            "{source} cannot be read without the package onnx",
            hint=INSTALL,
            source=source,
        ) from error
    return onnx


def listed_characters(metadata: Mapping[str, str]) -> tuple[str, ...] | None:
    """The dictionary in the metadata of a recogniser of PaddleOCR; None if there is none.

    Its classes are the CTC blank, these characters, and the space.
    """
    text = metadata.get("character")
    return None if text is None else tuple(text.split("\n"))
