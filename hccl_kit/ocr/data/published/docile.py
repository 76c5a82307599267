"""DocILE: pages of invoices. For each document, ocr/ID.json has all words, and annotations/ID.json some fields.

docTR has read the words, people have marked the fields. Coordinates are shares of a page. The pages are published as
PDF; the library of the set writes their images: cached_images/ID/0.png, 1.png and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data.published.json_sets import as_list, as_object, field, load, numbered
from hccl_kit.ocr.data.published.marked import Marked, box, legible, marked
from hccl_kit.ocr.data.samples import BadSampleError, Sample
from hccl_kit.ocr.file_errors import cannot_read

if TYPE_CHECKING:
    from hccl_kit.ocr.data.pages.pages import Region

FIELDS = ("field_extractions", "line_item_extractions", "line_item_headers")


class Row(NamedTuple):
    """A word or field as in its file; `shares` are left, top, right and bottom as shares of the page."""

    page: Any
    text: Any
    shares: Any


def words(labels: Path, images: Path) -> Iterator[Marked | str]:
    """The pages in the files of `ocr`, with their words."""
    return _documents(labels, images, _words)


def fields(labels: Path, images: Path) -> Iterator[Marked | str]:
    """The pages with fields in the files of `annotations`; a field of several lines is left out."""
    return _documents(labels, images, _fields)


def _words(content: dict[str, Any]) -> Iterator[tuple[str, Row]]:
    """{"pages": [{"blocks": [{"lines": [{"words": [{"value": text, "geometry": [[x, y], [x, y]]}]}]}]}]}."""
    for page, of_page in enumerate(as_list(content.get("pages"))):
        lines = [line for block in as_list(field(of_page, "blocks")) for line in as_list(field(block, "lines"))]
        words = [word for line in lines for word in as_list(field(line, "words"))]
        for place, word in numbered(f"page {page}, word", words):
            yield place, Row(page, field(word, "value"), _flat(word.get("geometry")))


def _flat(corners: Any) -> list[Any] | None:
    """[[left, top], [right, bottom]] as one list; None for anything but lists in a list."""
    if not isinstance(corners, list) or not all(isinstance(corner, list) for corner in corners):
        return None
    return [share for corner in corners for share in corner]


def _fields(content: dict[str, Any]) -> Iterator[tuple[str, Row]]:
    """{"field_extractions": [{"page": 0, "text": text, "bbox": [left, top, right, bottom]}]}."""
    for name in FIELDS:
        for place, row in numbered(name, content.get(name)):
            yield place, Row(field(row, "page"), row.get("text"), row.get("bbox"))


def _documents(
    labels: Path, images: Path, rows_of: Callable[[dict[str, Any]], Iterator[tuple[str, Row]]]
) -> Iterator[Marked | str]:
    """Raises KitError if the folder of the labels cannot be read."""
    try:
        files = sorted(path for path in labels.iterdir() if path.suffix == ".json")
    except OSError as error:
        raise cannot_read(labels, error) from error
    for path in files:
        if not (images / path.stem).is_dir():
            yield f"{path}: {images} has no folder {path.stem} with images of its pages"
            continue
        try:
            rows = list(rows_of(as_object(load(path), f"{path}")))
        except (BadSampleError, KitError) as error:
            yield str(error) if isinstance(error, KitError) else f"{path}: {error}"
            continue
        pages: dict[int, list[tuple[str, Row]]] = {}
        for place, row in rows:
            if type(row.page) is int and row.page >= 0:
                pages.setdefault(row.page, []).append((f"{path}: {place}", row))
            else:
                yield f"{path}: {place}: not a page number: {str(row.page)[:60]}"
        for number, of_page in sorted(pages.items()):
            yield _page(images / path.stem / f"{number}.png", of_page)


def _page(image: Path, rows: list[tuple[str, Row]]) -> Marked | str:
    from hccl_kit.ocr.data.image_file import open_image, size_of  # noqa: PLC0415  # after --help

    try:
        with open_image(Sample(image)) as (file, _):
            size = size_of(file)
    except BadSampleError as error:
        return f"{image}: {error}"
    return marked(f"{image}", lambda: image, lambda: rows, lambda row: _region(row, size))


def _region(row: Row, size: tuple[int, int]) -> Region:
    shares = as_list(row.shares)
    for share in shares:
        if type(share) not in (int, float) or not 0 <= share <= 1:
            raise BadSampleError(f"not a share from 0 to 1: {str(share)[:60]}")
    return legible(row.text), box([round(share * size[number % 2], 2) for number, share in enumerate(shares)])
