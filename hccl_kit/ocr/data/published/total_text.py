"""Total-Text: poly_gt_img1.txt with an entry for each polygon, which may continue on the next lines.

x: [[153 161 179]], y: [[347 323 305]], ornt: [u'c'], transcriptions: [u'the']
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from hccl_kit.ocr.data.published.marked import ILLEGIBLE, Marked, corners, legible, numbers, read_pairs
from hccl_kit.ocr.data.published.rows import numbered
from hccl_kit.ocr.data.samples import BadSampleError

if TYPE_CHECKING:
    from hccl_kit.ocr.data.pages.pages import Region

HIDDEN = "#"
_ENTRY = re.compile(r"x: *\[\[([^]]*)\]\], *y: *\[\[([^]]*)\]\], *ornt: *\[[^]]*\], *transcriptions: *\[(.*)\] *")
_LITERAL = re.compile(r"""u?'((?:[^'\\]|\\.)*)(?:'|$)|u?"((?:[^"\\]|\\.)*)(?:"|$)""")
"""A text without closing quote extends to the end: otherwise the search would start again at each quote."""
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|(.))")


def read(labels: Path, images: Path) -> Iterator[Marked | str]:
    """A page for each image."""
    return read_pairs(labels, images, [".txt"], _entries, _region, image_stem=_image_stem)


def _image_stem(stem: str) -> str:
    return stem.removeprefix("poly_").removeprefix("gt_")


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


def _region(entry: str) -> Region:
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
