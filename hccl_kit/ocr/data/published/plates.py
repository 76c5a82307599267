"""CCPD: number plates, whose labels are the names of the images (Xu et al. 2018).

A name has seven parts: area, tilt, box, corners, number, brightness and blur.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from hccl_kit.ocr.data.image_paths import SUFFIXES
from hccl_kit.ocr.data.pages.page_labels import page_or_reason
from hccl_kit.ocr.data.pages.pages import Page, Region
from hccl_kit.ocr.data.published.set_files import inside
from hccl_kit.ocr.data.samples import BadSampleError, numbered_lines

PROVINCES = "皖沪津渝冀晋蒙辽吉黑苏浙京闽赣鲁豫鄂湘粤桂琼川贵云藏陕甘青宁新警学O"
LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZO"
SIGNS = "ABCDEFGHJKLMNPQRSTUVWXYZ0123456789O"
"""A number is the places of its signs in these: a province, a letter, and five or six signs."""

_CORNERS = re.compile(r"[0-9]{1,6}&[0-9]{1,6}(_[0-9]{1,6}&[0-9]{1,6}){3}")
_PLACES = re.compile(r"[0-9]{1,2}(_[0-9]{1,2}){6,7}")


def ccpd(labels: Path, images: Path) -> Iterator[Page | str]:
    """A page for each image of the folder, or of a list of the split, such as `splits/train.txt`."""
    if labels.is_dir():
        for path in sorted(labels.iterdir()):
            if path.suffix.lower() in SUFFIXES:
                yield page_or_reason(path, path, plate)
        return
    for _, line in numbered_lines(labels):
        name = line.strip()
        yield page_or_reason(images / name, (images, name), lambda row: plate(inside(*row)))


def plate(path: Path) -> list[Region]:
    """The number and the corners that the name of an image tells, from the top left clockwise.

    Raises BadSampleError if the name is of another form.
    """
    parts = path.stem.split("-")
    if len(parts) != 7 or not _CORNERS.fullmatch(parts[3]) or not _PLACES.fullmatch(parts[4]):
        raise BadSampleError("the name is not area-tilt-box-corners-number-brightness-blur")
    first, second, *rest = map(int, parts[4].split("_"))
    if first >= len(PROVINCES) or second >= len(LETTERS) or max(rest) >= len(SIGNS):
        raise BadSampleError(f"the number {parts[4]} has a sign that does not exist")
    # Published from the bottom right clockwise.
    corners = [[float(value) for value in corner.split("&")] for corner in parts[3].split("_")]
    number = PROVINCES[first] + LETTERS[second] + "".join(SIGNS[place] for place in rest)
    return [(number, corners[2:] + corners[:2])]
