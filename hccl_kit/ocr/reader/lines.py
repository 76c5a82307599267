"""The images of lines in batches of similar width."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from hccl_kit.ocr.reader.page import Image, normalised

HEIGHT, WIDTH = 48, 320
"""Height and least width of a line image in the recogniser; longer lines keep their ratio."""
DIRECTION_WIDTH = 192
"""Width of a line image in the classifier of directions; longer lines are squeezed into it."""
GROUP = 6
"""Lines in a group of one width in the recogniser."""
MOST_COLUMNS = 1 << 14
"""Maximum sum of the widths in a batch: a batch of the widest lines would take gigabytes in the attention."""


class Batch(NamedTuple):
    """Lines that a network takes at once."""

    numbers: NDArray[np.intp]
    """Their indices among all lines."""
    images: NDArray[np.float32]
    """(N, 3, 48, W) from -1 to 1, zero to the right of each line."""


def batches(lines: Sequence[Image], *, width: int | None = None) -> Iterator[Batch]:
    """All lines, sorted by width over height, in groups of similar width; or all at the one `width`.

    A group is as wide as its widest line, at least WIDTH. The padding changes a reading slightly, so groups are those
    of rapidocr; a group of very wide lines is run in parts of the same width.
    """
    ratios = np.array([line.shape[1] / line.shape[0] for line in lines])
    order = np.argsort(ratios)
    count = MOST_COLUMNS // width if width else GROUP
    for start in range(0, len(lines), count):
        group = order[start : start + count]
        columns = width or int(HEIGHT * max(WIDTH / HEIGHT, ratios[group].max()))
        size = max(1, MOST_COLUMNS // columns)
        for first in range(0, len(group), size):
            part = group[first : first + size]
            yield Batch(part, np.stack([_padded(lines[number], columns) for number in part]))


def _padded(line: Image, columns: int) -> NDArray[np.float32]:
    height, width = line.shape[:2]
    inner = min(columns, ceil(HEIGHT * (width / height)))
    image = np.zeros((3, HEIGHT, columns), np.float32)
    image[:, :, :inner] = normalised(np.asarray(cv2.resize(line, (inner, HEIGHT)), np.uint8))
    return image
