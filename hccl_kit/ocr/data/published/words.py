"""Sets of words that are cut already: IIIT 5K-word."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hccl_kit.ocr.data.published import mat
from hccl_kit.ocr.data.published.marked import find_image, legible
from hccl_kit.ocr.data.samples import BadSampleError

IIIT5K = ("traindata", "testdata")
"""The structure arrays of traindata.mat and testdata.mat."""


def iiit5k(labels: Path, images: Path) -> Iterator[tuple[str, str] | str]:
    """The path and the text of each word of traindata.mat or testdata.mat; `place: reason` for one that is left out.

    The file holds a structure array with the fields ImgName (train/1_1.png) and GroundTruth. Paths are below `images`.
    Raises KitError if the file is not of that form.
    """
    for number, (name, text) in enumerate(mat.texts(labels, IIIT5K, ("ImgName", "GroundTruth")), 1):
        try:
            image = find_image(images, name)
            yield image.relative_to(images).as_posix(), legible(text)
        except BadSampleError as error:
            yield f"{labels}: word {number}: {error}"
