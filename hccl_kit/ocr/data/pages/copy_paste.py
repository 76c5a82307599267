"""CopyPaste: pastes texts of another page into free areas of a page, after PaddleOCR's transform of that name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data.pages.pages import Page, pad_polygons
from hccl_kit.ocr.data.samples import MAX_REGIONS
from hccl_kit.ocr.data.transforms import Mix, image_of

TRIES = 10
"""Number of random positions tried for a text."""
Boxes = NDArray[np.int64]
"""Rectangles around polygons (N, 4): left, top, right and bottom, in whole pixels, the last two exclusive."""


def copy_paste(*, p: float = 0.5, objects_paste_ratio: float = 0.2, most: int = 30) -> Mix[Page]:
    """With probability `p` paste texts of another page, inside their polygons and in their own size.

    A share `objects_paste_ratio` of its texts, at least one and at most `most`, is pasted where no text of the page is,
    ignored ones included; a text that finds no place is left out. Ignored texts, and those partly outside their page,
    are not copied. Raises KitError if the targets of a loss have been drawn already.
    """

    def mix(page: Page, generator: np.random.Generator, another: Callable[[], Page | None]) -> Page:
        if page.maps:
            raise KitError(
                "ocr.copy-paste.copypaste-follows-transforms",
                "CopyPaste follows the transforms that draw the targets",
                fix="put it before these",
            )
        source = another() if generator.random() < p else None
        if source is None:
            return page
        candidates = _whole_texts(source)
        count = min(most, max(1, round(objects_paste_ratio * len(candidates))), MAX_REGIONS - len(page.polys))
        return _pasted(page, source, generator.permutation(candidates)[:count], generator)

    return Mix(mix)


def _whole_texts(page: Page) -> NDArray[np.intp]:
    """The numbers of the texts that count and lie inside their page."""
    height, width = image_of(page).shape[:2]
    inside = ((page.polys >= 0) & (page.polys <= (width - 1, height - 1))).all(axis=(1, 2))
    return np.flatnonzero(inside & ~page.ignored)


def _pasted(page: Page, source: Page, numbers: NDArray[np.intp], generator: np.random.Generator) -> Page:
    """The page with these texts of another one, as far as they find a place."""
    image, taken, polys, texts = image_of(page).copy(), _boxes(page.polys), [], []
    pixels = image_of(source)
    for number, (left, top, right, bottom) in zip(numbers, _boxes(source.polys[numbers]).tolist(), strict=True):
        size = right - left, bottom - top
        place = _free_place(taken, size, (image.shape[1], image.shape[0]), generator)
        if place is None:
            continue
        x, y = place
        poly = source.polys[number] - np.array([left, top], np.float32)
        mask = cv2.fillPoly(np.zeros(size[::-1], np.uint8), [np.rint(poly).astype(np.int32)], 1).astype(bool)
        image[y : y + size[1], x : x + size[0]][mask] = pixels[top:bottom, left:right][mask]
        taken = np.vstack([taken, [[x, y, x + size[0], y + size[1]]]])
        polys.append(poly + np.array([x, y], np.float32))
        texts.append(source.texts[number])
    if not polys:
        return page
    return replace(
        page,
        image=image,
        polys=pad_polygons([*page.polys, *polys]),
        texts=(*page.texts, *texts),
        ignored=np.append(page.ignored, np.zeros(len(polys), bool)),
    )


def _free_place(
    taken: Boxes, size: tuple[int, int], page: tuple[int, int], generator: np.random.Generator
) -> tuple[int, int] | None:
    """Left and top of a free rectangle of a size on a page, both (width, height); None if none is found."""
    if size[0] > page[0] or size[1] > page[1]:
        return None
    for x, y in generator.integers(0, np.subtract(page, size) + 1, (TRIES, 2)).tolist():
        apart = (taken[:, 0] >= x + size[0]) | (taken[:, 2] <= x) | (taken[:, 1] >= y + size[1]) | (taken[:, 3] <= y)
        if apart.all():
            return x, y
    return None


def _boxes(polys: NDArray[Any]) -> Boxes:
    lows, highs = np.floor(polys.min(axis=1)), np.ceil(polys.max(axis=1)) + 1
    return np.hstack([lows, highs]).astype(np.int64)
