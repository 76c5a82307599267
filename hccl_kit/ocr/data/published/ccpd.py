"""CCPD: photos of cars, whose file names encode the corners and the text of the number plate.

025-95_113-154&383_386&473-386&473_177&454_154&383_363&402-0_0_22_27_27_33_16-37-15.jpg: share of the area, tilt, box,
four corners from the lower right one on, indices of the characters, brightness, blur.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hccl_kit.ocr.data.image_paths import find_images
from hccl_kit.ocr.data.published.marked import Marked, corners, find_image, legible, marked, numbers
from hccl_kit.ocr.data.samples import BadSampleError, numbered_lines

if TYPE_CHECKING:
    from hccl_kit.ocr.data.pages.pages import Region

PROVINCES = "皖沪津渝冀晋蒙辽吉黑苏浙京闽赣鲁豫鄂湘粤桂琼川贵云藏陕甘青宁新警学"
LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"
MARKS = f"{LETTERS}0123456789"
"""Each of these lists ends with an O in CCPD, which stands for no character."""


def read(labels: Path, images: Path) -> Iterator[Marked | str]:
    """A page for each image of the folder `labels`, or for each line `ccpd_base/NAME.jpg` of a list of splits.

    Raises KitError if the list cannot be read or the folder has no images.
    """
    if labels.is_dir():
        yield from (_page(str(path), partial(Path, path), path.stem) for path in find_images([labels]))
        return
    for number, name in numbered_lines(labels):
        yield _page(f"{labels}:{number}", partial(find_image, images, name.strip()), Path(name.strip()).stem)


def _page(place: str, image: Callable[[], Path], stem: str) -> Marked | str:
    page = marked(place, image, lambda: [(place, stem)], _plate)
    return page.left_out[0] if isinstance(page, Marked) and page.left_out else page


def _plate(stem: str) -> Region:
    fields = stem.split("-")
    if len(fields) != 7:
        raise BadSampleError(f"expected a name of 7 fields, found {stem[:60]!r}")
    values = numbers(value for corner in fields[3].split("_") for value in corner.split("&"))
    if len(values) != 8:
        raise BadSampleError(f"expected 4 corners, found {fields[3][:60]!r}")
    return legible(_number(fields[4])), corners(values[4:] + values[:4])  # the third one is the upper left


def _number(indices: str) -> str:
    return "".join(map(_mark, [PROVINCES, LETTERS, *[MARKS] * (indices.count("_") - 1)], indices.split("_")))


def _mark(marks: str, index: str) -> str:
    if not (index.isascii() and index.isdecimal() and len(index) < 4 and int(index) <= len(marks)):
        raise BadSampleError(f"no character has the index {index[:60]!r}; accepted: 0 to {len(marks)}")
    return (*marks, "")[int(index)]
