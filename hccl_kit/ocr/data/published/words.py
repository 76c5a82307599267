"""Sets of cropped words: ICDAR 2015, IIIT 5K-word, CUTE80."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path, PurePath

from hccl_kit.base.errors import KitError
from hccl_kit.base.wording import either
from hccl_kit.ocr.data import mat_file
from hccl_kit.ocr.data.published.marked import find_image, image_path, legible
from hccl_kit.ocr.data.published.rows import numbered
from hccl_kit.ocr.data.samples import BadSampleError, numbered_lines

IIIT5K = ("traindata", "testdata")
"""The structure arrays of traindata.mat and testdata.mat."""
IIIT5K_FIELDS = ("ImgName", "GroundTruth")


def ic15(labels: Path, images: Path) -> Iterator[tuple[str, str] | str]:
    """The rows `word_1.png, "text"` of gt.txt; the quotes are not part of the text.

    Whether there are such images is not checked. Raises KitError if the list cannot be read.
    """
    for number, row in numbered_lines(labels):
        name, comma, text = (part.strip() for part in row.partition(","))
        if comma and name and len(text) > 1 and text[0] == text[-1] == '"':
            yield _word(f"{labels}:{number}", image_path, images, name, text[1:-1])
        else:
            yield f'{labels}:{number}: expected word_1.png, "text", found {row[:60]!r}'


def iiit5k(labels: Path, images: Path) -> Iterator[tuple[str, str] | str]:
    """The path and the text of each word of traindata.mat or testdata.mat; `place: reason` for one that is left out.

    The file holds a structure array with the fields ImgName (train/1_1.png) and GroundTruth. Paths are below `images`.
    Raises KitError if the file is not of that form.
    """
    words = next((array for array in mat_file.read(labels, IIIT5K).values() if array.dtype.names), None)
    if words is None:
        raise KitError(
            "ocr.words.no-structure-array",
            "{labels} has no structure array {iiit5k}",
            labels=labels,
            iiit5k=either(IIIT5K),
        )
    if missing := [field for field in IIIT5K_FIELDS if field not in (words.dtype.names or ())]:
        raise KitError(
            "ocr.words.structure-array-no",
            "{labels}: the structure array has no field {missing}",
            labels=labels,
            missing=" and ".join(missing),
        )
    for number, word in enumerate(words.ravel(order="F"), 1):
        name, text = (mat_file.text(word[field]) for field in IIIT5K_FIELDS)
        yield _word(f"{labels}: word {number}", _relative, images, name, text)


def cute80(labels: Path, images: Path) -> Iterator[tuple[str, str] | str]:
    """The rows `timage/001.jpg TEXT 1 TEXT`: a path, a text, and a lexicon: its size and its words.

    The authors published no words; this list of 288 is what recognisers are measured on. Raises KitError if it cannot
    be read.
    """
    for place, row in numbered(labels):
        name, *fields = row.split()
        if len(fields) == 1 or (len(fields) > 1 and fields[1] == str(len(fields) - 2)):
            yield _word(place, _relative, images, name, fields[0])
        else:
            yield f"{place}: expected timage/001.jpg TEXT 1 TEXT, found {row[:60]!r}"


def _relative(images: Path, name: str | None) -> PurePath:
    return find_image(images, name).relative_to(images)


def _word(
    place: str, locate: Callable[[Path, str | None], PurePath], images: Path, name: str | None, text: str | None
) -> tuple[str, str] | str:
    try:
        return locate(images, name).as_posix(), legible(text)
    except BadSampleError as error:
        return f"{place}: {error}"
