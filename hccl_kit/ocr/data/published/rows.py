"""Sets with a text file for each image and a row for each region, which in Total-Text may be several lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hccl_kit.base.bounded_file import read_bounded
from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data.published.marked import ILLEGIBLE, Marked, corners, legible, numbers, read_pairs, turned
from hccl_kit.ocr.data.samples import BadSampleError

if TYPE_CHECKING:
    from hccl_kit.ocr.data.pages.pages import Region

MAX_BYTES = 1 << 22
HIDDEN = "#"
_ENTRY = re.compile(r"x: *\[\[([^]]*)\]\], *y: *\[\[([^]]*)\]\], *ornt: *\[[^]]*\], *transcriptions: *\[(.*)\] *")
_LITERAL = re.compile(r"""u?'((?:[^'\\]|\\.)*)(?:'|$)|u?"((?:[^"\\]|\\.)*)(?:"|$)""")
"""A text without closing quote extends to the end: otherwise the search would start again at each quote."""
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|(.))")


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


def total_text(labels: Path, images: Path) -> Iterator[Marked | str]:
    """Total-Text: poly_gt_img1.txt with an entry for each polygon, which may continue on the next lines.

    x: [[153 161 179]], y: [[347 323 305]], ornt: [u'c'], transcriptions: [u'the']
    """
    without = partial(re.sub, "^(poly_)?(gt_)?", "")
    return read_pairs(labels, images, [".txt"], _entries, _total_text, image_stem=without)


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


def _entries(path: Path) -> Iterator[tuple[str, str]]:
    """Each entry in one line, with the place where it starts."""
    place, parts = "", list[str]()
    for at, line in numbered(path):
        if parts and line.startswith("x:"):
            yield place, " ".join(parts)
            parts = []
        place = place if parts else at
        parts.append(line.strip())
    if parts:
        yield place, " ".join(parts)


def _total_text(entry: str) -> Region:
    match = _ENTRY.fullmatch(entry)
    if not match:
        raise BadSampleError(
            f"expected x: [[...]], y: [[...]], ornt: [...], transcriptions: [...], found {entry[:60]!r}"
        )
    xs, ys = (numbers(group.replace(",", " ").split()) for group in match.groups()[:2])
    if len(xs) != len(ys):
        raise BadSampleError(f"{len(xs)} x and {len(ys)} y coordinates; expected the same number of each")
    # A comma in a text has split it: [u'a', u'b'].
    text = ",".join(_unescaped(single or double) for single, double in _LITERAL.findall(match.group(3)))
    shown = ILLEGIBLE if text == HIDDEN else legible(text)
    return shown, corners([value for corner in zip(xs, ys, strict=True) for value in corner])


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match[1] or match[2], 16)) if match[1] or match[2] else match[3], text)
