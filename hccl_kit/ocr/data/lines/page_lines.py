"""The readable lines of a page as images, and their labels."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

import cv2
import numpy as np

from hccl_kit.ocr.data.lines.crop import crop_line, quad
from hccl_kit.ocr.data.pages.page_transforms import encode_label
from hccl_kit.ocr.data.pages.pages import Page
from hccl_kit.ocr.data.transforms import decode_image, image_of
from hccl_kit.ocr.drawing import encoded


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
