"""Pictures of lines with their texts and of pages with their regions, each with a header that explains it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from hccl_kit.base.wording import counted

Image = NDArray[np.uint8]
"""HxWx3, BGR."""
Polygon = NDArray[Any]
Colour = tuple[int, int, int]
ROW, HEADER, MARGIN = 48, 28, 10
COLUMNS = (200, 200, 110, 200)
"""Widths of image, text, confidence and ground truth in a picture of lines."""
MAX_ROWS = 200
PAGE = 640
"""Largest side of a page in a picture of several."""
FONT = cv2.FONT_HERSHEY_SIMPLEX
BLACK, GREEN, RED, BLUE, GREY = (0, 0, 0), (0, 130, 0), (0, 0, 200), (220, 40, 0), (120, 120, 120)


@dataclass(frozen=True, slots=True)
class Row:
    """The image of a line, its text, and the confidence and ground truth of a reading."""

    image: NDArray[Any]
    text: str
    confidence: float | None = None
    truth: str | None = None


@dataclass(frozen=True, slots=True)
class ComparedPage:
    """A page with its texts and the false boxes, polygons (n, 2) in pixels of `image`."""

    image: Image
    caption: str
    found: Iterable[Polygon]
    missed: Iterable[Polygon]
    ignored: Iterable[Polygon]
    false: Iterable[Polygon]


def draw(rows: Sequence[Row]) -> Image:
    """A header, and one line for each of at most MAX_ROWS readings: green if right, red if wrong, black if unknown.

    Characters outside ASCII appear as '?': OpenCV draws no others.
    """
    header = _header(sum(COLUMNS), [(0, "image", BLACK), (200, "reading", BLACK), (400, "confidence", BLACK)])
    if any(row.truth is not None for row in rows):
        legend = [(290, "right", GREEN), (340, "wrong", RED), (510, "truth, if misread", BLACK)]
        header = np.minimum(header, _header(sum(COLUMNS), legend))
    return np.vstack([header, *map(_line, rows[:MAX_ROWS])])


def draw_labels(images: Sequence[Image], texts: Sequence[str]) -> Image:
    """A header, and one line for each of at most MAX_ROWS images of a training batch with its label."""
    header = _header(sum(COLUMNS[:2]), [(0, "image", BLACK), (200, "label", BLACK)])
    lines = [_line(Row(image, text))[:, : header.shape[1]] for image, text in zip(images, texts, strict=True)]
    return np.vstack([header, *lines[:MAX_ROWS]])


def draw_page(image: Image, regions: Sequence[tuple[NDArray[Any], str]]) -> Image:
    """A page with a green outline around each region; texts, if any, are at their positions on a page to its right."""
    page = image.copy()
    width = max(1, round(max(image.shape[:2]) / 600))
    for points, _ in regions:
        cv2.polylines(page, [np.rint(points).astype(np.int32)], True, GREEN, width, cv2.LINE_AA)
    left = np.vstack([_header(page.shape[1], [(0, f"{counted(len(regions), 'text')} found", GREEN)]), page])
    if not any(text for _, text in regions):
        return left
    readings = np.full_like(page, 255)
    for points, text in regions:
        (start, _), (end, bottom) = points.min(axis=0), points.max(axis=0)
        scale = _scale_of(text, float(end - start))
        cv2.putText(readings, _ascii(text), (int(start), int(bottom)), FONT, scale, BLACK, width, cv2.LINE_AA)
    return np.hstack([left, np.vstack([_header(page.shape[1], [(0, "readings", BLACK)]), readings])])


def draw_comparisons(pages: Iterable[ComparedPage]) -> Image:
    """Pages in two columns under a legend, each with a caption and no larger than PAGE."""
    legend = [(0, "found", GREEN), (60, "missed", RED), (130, "false", BLUE), (190, "grey: ignored", GREY)]
    cells = [_compared(page) for page in pages]
    rows = [_side_by_side(cells[first : first + 2]) for first in range(0, len(cells), 2)]
    return np.vstack([_header(2 * PAGE, legend), *rows])


def _compared(page: ComparedPage) -> Image:
    height, width = page.image.shape[:2]
    scale = min(1.0, PAGE / max(height, width))
    image = cv2.resize(page.image, (max(1, round(width * scale)), max(1, round(height * scale))))
    for outlines, colour in ((page.ignored, GREY), (page.found, GREEN), (page.missed, RED), (page.false, BLUE)):
        for points in outlines:
            cv2.polylines(image, [np.rint(points * scale).astype(np.int32)], True, colour, 2, cv2.LINE_AA)
    cell = np.full((HEADER + len(image), PAGE, 3), 255, np.uint8)
    cell[:HEADER] = _header(PAGE, [(0, _ascii(page.caption), BLACK)])
    cell[HEADER:, : image.shape[1]] = image
    return cell


def _side_by_side(cells: Sequence[Image]) -> Image:
    """A row of at most two cells, as high as the higher one."""
    row = np.full((max(map(len, cells)), 2 * PAGE, 3), 255, np.uint8)
    for number, cell in enumerate(cells):
        row[: len(cell), number * PAGE : (number + 1) * PAGE] = cell
    return row


def draw_targets(images: Sequence[Image], targets: Sequence[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]) -> Image:
    """Pages of a training batch side by side, under a legend.

    `targets` (H, W) of each page: the kernels of its texts and their borders, from 0 to 1, and the mask, 0 for pixels
    that the loss ignores.
    """
    pages = []
    for image, (kernels, borders, mask) in zip(images, targets, strict=True):
        page: NDArray[Any] = image * np.where(mask == 0, 0.4, 1.0)[..., None]
        for share, colour in ((kernels, (0, 255, 0)), (borders, (0, 0, 255))):
            weight = 0.6 * np.asarray(share)[..., None]
            page = page * (1 - weight) + np.array(colour) * weight
        pages.append(np.rint(page).astype(np.uint8))
    strip = np.hstack(pages)
    legend = [(0, "text kernels", GREEN), (120, "borders", RED), (200, "dark: ignored", GREY)]
    return np.vstack([_header(strip.shape[1], legend), strip])


def encoded(image: NDArray[Any], suffix: str = ".png") -> bytes:
    """The image as a file in the format of the suffix."""
    done, data = cv2.imencode(suffix, image)
    assert done
    return data.tobytes()


def _line(row: Row) -> Image:
    line = np.full((ROW, sum(COLUMNS), 3), 255, np.uint8)
    room, text, share, truth = np.cumsum((0, *COLUMNS))[:4].tolist()
    height, width = row.image.shape[:2]
    scale = min((ROW - 8) / height, (COLUMNS[0] - 8) / width)
    small = cv2.resize(row.image, (max(1, round(width * scale)), max(1, round(height * scale))))
    line[4 : 4 + small.shape[0], room + 4 : room + 4 + small.shape[1]] = small
    colour = BLACK if row.truth is None else GREEN if row.truth == row.text else RED
    _write(line, row.text or "(nothing)", text, COLUMNS[1], colour)
    if row.confidence is not None:
        _write(line, f"{row.confidence:.0%}", share, COLUMNS[2], BLACK)
    if row.truth is not None and row.truth != row.text:
        _write(line, row.truth, truth, COLUMNS[3], BLACK)
    return line


def _write(line: Image, text: str, left: int, width: int, colour: Colour) -> None:
    """A text in its column, smaller if it would not fit."""
    scale = min(0.7, _scale_of(text, width - 2 * MARGIN))
    cv2.putText(line, _ascii(text), (left + MARGIN, 31), FONT, scale, colour, 1, cv2.LINE_AA)


def _header(width: int, words: Sequence[tuple[int, str, Colour]]) -> Image:
    """A strip with words, each from its column on."""
    strip = np.full((HEADER, width, 3), 235, np.uint8)
    for left, text, colour in words:
        cv2.putText(strip, text, (left + MARGIN, 19), FONT, 0.45, colour, 1, cv2.LINE_AA)
    return strip


def _scale_of(text: str, width: float) -> float:
    """The font scale at which a text is about `width` pixels wide."""
    (natural, _), _ = cv2.getTextSize(_ascii(text), FONT, 1.0, 1)
    return min(2.0, max(0.2, width / max(natural, 1)))


def _ascii(text: str) -> str:
    return text.encode("ascii", "replace").decode()
