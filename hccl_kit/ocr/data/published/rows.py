"""Sets with a text file for each image and a row for each region."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from hccl_kit.base.bounded_file import read_bounded
from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data.published.marked import ILLEGIBLE, Marked, corners, legible, numbers, read_pairs, turned
from hccl_kit.ocr.data.samples import BadSampleError

if TYPE_CHECKING:
    from hccl_kit.ocr.data.pages.pages import Region

MAX_BYTES = 1 << 22


def mlt2017(labels: Path, images: Path) -> Iterator[Marked | str]:
    """ICDAR 2017 MLT: gt_img_1.txt with rows x1,y1,x2,y2,x3,y3,x4,y4,script,text."""
    return _read(labels, images, _mlt2017, image_stem=lambda stem: stem.removeprefix("gt_"))


def rctw17(labels: Path, images: Path) -> Iterator[Marked | str]:
    """RCTW-17: image_1.txt with rows x1,y1,x2,y2,x3,y3,x4,y4,difficult,"text"."""
    return _read(labels, images, _rctw17)


def casia10k(labels: Path, images: Path) -> Iterator[Marked | str]:
    """CASIA-10K: NAME.txt in GBK with rows x1,y1,x2,y2,x3,y3,x4,y4,text."""
    return _read(labels, images, _casia10k, encoding="gbk")


def td500(labels: Path, images: Path) -> Iterator[Marked | str]:
    """MSRA-TD500: IMG_1.gt with rows `index difficult x y width height angle`, in radians; it has no texts."""
    return _read(labels, images, _td500, suffix=".gt")


def numbered(path: Path, encoding: str = "utf-8-sig") -> Iterator[tuple[str, str]]:
    """The rows of a small file that are not blank, each with its place. Raises KitError if it cannot be read."""
    try:
        text = read_bounded(path, MAX_BYTES).decode(encoding)
    except UnicodeDecodeError as error:
        raise KitError(
            "ocr.rows.not",
            "{path} is not {upper}: byte {start}",
            path=path,
            upper=encoding.removesuffix("-sig").upper(),
            start=error.start,
        ) from error
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield f"{path}:{number}", line.removesuffix("\r")


def _read(
    labels: Path,
    images: Path,
    parse: Callable[[str], Region],
    *,
    suffix: str = ".txt",
    image_stem: Callable[[str], str] = str,
    encoding: str = "utf-8-sig",
) -> Iterator[Marked | str]:
    return read_pairs(labels, images, [suffix], lambda label: numbered(label, encoding), parse, image_stem=image_stem)


def _fields(row: str, count: int, form: str) -> list[str]:
    """The fields of a row; the last one may contain commas."""
    fields = row.split(",", count - 1)
    if len(fields) != count:
        raise BadSampleError(f"expected {form}, found {row[:60]!r}")
    return fields


def _mlt2017(row: str) -> Region:
    *values, _, text = _fields(row, 10, "x1,y1,x2,y2,x3,y3,x4,y4,script,text")
    return legible(text), corners(numbers(values))


def _rctw17(row: str) -> Region:
    *values, difficult, text = _fields(row, 10, 'x1,y1,x2,y2,x3,y3,x4,y4,difficult,"text"')
    quoted = text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text
    return ILLEGIBLE if difficult.strip() == "1" else legible(quoted), corners(numbers(values))


def _casia10k(row: str) -> Region:
    *values, text = _fields(row, 9, "x1,y1,x2,y2,x3,y3,x4,y4,text")
    return legible(text), corners(numbers(values))


def _td500(row: str) -> Region:
    fields = row.split()
    if len(fields) != 7:
        raise BadSampleError(f"expected index difficult x y width height angle, found {row[:60]!r}")
    _, difficult, x, y, width, height, angle = numbers(fields)
    return ILLEGIBLE if difficult == 1 else "", turned(width, height, angle, at=(x, y))
