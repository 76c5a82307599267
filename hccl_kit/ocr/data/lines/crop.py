"""Lines cropped from pages: the content of a quadrilateral, rectified, and files of all readable lines of a page."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from hccl_kit.ocr.data.pages.page_transforms import encode_label
from hccl_kit.ocr.data.pages.pages import Page, assert_drawable
from hccl_kit.ocr.data.samples import BadSampleError
from hccl_kit.ocr.data.transforms import decode_image, image_of
from hccl_kit.ocr.drawing import encoded
from hccl_kit.ocr.polygons import clockwise

UPRIGHT = 1.5
"""Height over width from which a line counts as rotated by 90 degrees."""


def crop_line(image: NDArray[Any], quad: NDArray[Any]) -> NDArray[Any]:
    """The content of the quadrilateral `quad` (4, 2), clockwise from the start of the text, as a rectangle HxWx3.

    Width and height are those of the longer of two opposite sides. A tall line is rotated counterclockwise, so that its
    text runs from left to right, as in MindOCR and PaddleOCR. Outside of the image its border is repeated. Raises
    BadSampleError if the line or the image is too large for OpenCV.
    """
    corners = quad.astype(np.float32)
    sides = np.linalg.norm(corners - np.roll(corners, -1, axis=0), axis=1)
    most = sum(image.shape[:2])  # a corner far off the image takes no memory
    width, height = (int(np.clip(max(sides[n], sides[n + 2]), 1, most)) for n in (0, 1))
    straight = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
    assert_drawable(height, width)
    matrix = cv2.getPerspectiveTransform(corners, straight)
    size, border = (width, height), cv2.BORDER_REPLICATE
    try:
        line = cv2.warpPerspective(image, matrix, size, flags=cv2.INTER_CUBIC, borderMode=border)
    except cv2.error as error:  # a side of more than 32,766 pixels
        raise BadSampleError(str(error).strip()) from error
    return np.rot90(line).copy() if height >= UPRIGHT * width else line


def quad(poly: NDArray[np.float32]) -> NDArray[np.float32]:
    """Four corners to cut along: the polygon's own, or those of the smallest rectangle around any other."""
    count = len(poly)  # corners without padding, which repeats the last one
    while count > 4 and (poly[count - 1] == poly[count - 2]).all():
        count -= 1
    return poly[:4] if count == 4 else clockwise(cv2.boxPoints(cv2.minAreaRect(poly[:count])))


def write_lines(page: Page, prefix: Path, illegible: Collection[str], *, turns: bool) -> Iterator[str]:
    """Write the image of each readable line, named `prefix` and a number; yields `NAME TAB label`.

    The label is the text, or with `turns` the angle of each of two images: 0, and 180 for the line upside down. Raises
    BadSampleError if the image cannot be read, or does not belong to the regions.
    """
    generator = np.random.default_rng(0)
    whole = image_of(encode_label()(decode_image()(page, generator), generator))
    for number, (text, poly) in enumerate(zip(page.texts, page.polys, strict=True), 1):
        if not text.strip() or text in illegible:
            continue
        line = crop_line(whole, quad(poly))
        kinds = {"_0": (line, "0"), "_180": (cv2.rotate(line, cv2.ROTATE_180), "180")} if turns else {"": (line, text)}
        for suffix, (image, label) in kinds.items():
            name = f"{prefix.name}_{number:03}{suffix}.png"
            prefix.with_name(name).write_bytes(encoded(image))
            yield f"{name}\t{label}"
