"""SVT and CUTE80, and SCUT-CTW1500, whose training labels are XML too and whose test labels are rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as Xml

from hccl_kit.base.bounded_file import read_text
from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data.published.marked import Marked, box, corners, find_image, legible, marked, numbers, read_pairs
from hccl_kit.ocr.data.published.rows import numbered
from hccl_kit.ocr.data.samples import BadSampleError

if TYPE_CHECKING:
    from hccl_kit.ocr.data.pages.pages import Region

MAX_BYTES = 1 << 24
_TEST_STEM = re.compile("000([0-9]{4})")


def svt(labels: Path, images: Path) -> Iterator[Marked | str]:
    """Street View Text: train.xml with an upright box for each word. Raises KitError if it cannot be read."""
    return _one_file(labels, images, ("image", "imageName", "taggedRectangle"), _svt_word)


def cute80(labels: Path, images: Path) -> Iterator[Marked | str]:
    """CUTE80: GroundTruth.xml with a polygon for each line, whose text is always the word test, and so left empty.

    It has polygons of more images than are published. Raises KitError if it cannot be read.
    """
    return _one_file(labels, images, ("Image", "ImageName", "PolygonPoints"), _cute80_line)


def ctw1500(labels: Path, images: Path) -> Iterator[Marked | str]:
    """SCUT-CTW1500: 0001.xml of the training set; 0001001.txt of the test set, rows x1,y1,...,x14,y14,####text."""
    return read_pairs(
        labels,
        images,
        [".xml", ".txt"],
        _ctw1500_rows,
        _ctw1500_line,
        image_stem=lambda stem: _TEST_STEM.sub(r"\1", stem),
    )


def _ctw1500_rows(label: Path) -> Iterable[tuple[str, Xml.Element | str]]:
    if label.suffix == ".txt":
        return numbered(label)
    return ((f"{label}: box {order}", line) for order, line in enumerate(_root(label).iter("box"), 1))


def _one_file(
    labels: Path, images: Path, tags: tuple[str, str, str], parse: Callable[[Xml.Element], Region]
) -> Iterator[Marked | str]:
    """The pages of a file whose `tags` hold an image, its name and a text on it."""
    for number, page in enumerate(_root(labels).iter(tags[0]), 1):
        place = f"{labels}: image {number}"
        image = partial(find_image, images, page.findtext(tags[1]))
        texts = [(f"{place}, text {order}", text) for order, text in enumerate(page.iter(tags[2]), 1)]
        yield marked(place, image, partial(list, texts), parse)


def _root(path: Path) -> Xml.Element:
    text = read_text(path, MAX_BYTES)
    if "<!DOCTYPE" in text:  # only there are entities defined, which may expand without end
        raise KitError("ocr.xml-sets.document-type", "{path} has a document type; accepted: XML without one", path=path)
    try:
        return Xml.fromstring(text)  # noqa: S314  # see above
    except (Xml.ParseError, ValueError) as error:
        raise KitError("ocr.xml-sets.not-xml", "{path} is not XML: {reason}", path=path, reason=error) from error


def _svt_word(word: Xml.Element) -> Region:
    left, top, width, height = numbers(word.get(name, "") for name in ("x", "y", "width", "height"))
    return legible(word.findtext("tag")), box([left, top, left + width, top + height])


def _cute80_line(line: Xml.Element) -> Region:
    xs, ys = (numbers((line.get(name) or "").split()) for name in "xy")
    if len(xs) != len(ys):
        raise BadSampleError(f"{len(xs)} x and {len(ys)} y coordinates; expected the same number of each")
    return "", corners([value for corner in zip(xs, ys, strict=True) for value in corner])


def _ctw1500_line(line: Xml.Element | str) -> Region:
    if not isinstance(line, str):
        return legible(line.findtext("label")), corners(numbers((line.findtext("segs") or "").split(",")))
    values, hashes, text = line.partition(",####")
    if not hashes:
        raise BadSampleError(f"expected x1,y1,...,####text, found {line[:60]!r}")
    return legible(text), corners(numbers(values.split(",")))
