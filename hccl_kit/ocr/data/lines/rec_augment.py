"""The augmentations of PP-OCR's recognisers: RecAug, and RecConAug, which joins lines side by side.

Names and probabilities are PaddleOCR's; the warp is one piecewise bilinear map in place of three moving least squares.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data.lines.line_augment import Draw, Image, noisy
from hccl_kit.ocr.data.samples import TextLine
from hccl_kit.ocr.data.transforms import Mix, Transform, image_of

SMALLEST = 20
"""Pixels; a line with a shorter side is neither warped nor cropped."""
SEGMENTS = (3, 6)
"""Fewest and most segments of a warp."""
STRETCH, DISTORT, PERSPECTIVE = 1 / 4, 1 / 6, 1 / 4
"""Largest shifts of a knot: the first two in segments, together less than half, so that no column is drawn twice; the
last one in heights."""
CROP = 8
"""Maximum number of rows that are cut off, which is also at most a fifth of the height."""
VARIANCE = 20.0
JITTER = 4
"""Largest diagonal shift in pixels."""
LIGHT = 0.2


def rec_augment(
    *,
    tia_prob: float = 0.4,
    crop_prob: float = 0.4,
    blur_prob: float = 0.4,
    hsv_aug_prob: float = 0.4,
    jitter_prob: float = 0.4,
    noise_prob: float = 0.4,
    reverse_prob: float = 0.4,
) -> Transform[TextLine]:
    """Warp, crop, blur, brightness, jitter, noise and inversion, one after the other, each with its probability.

    Takes HxWx3 uint8. The size changes only in height, by the crop.
    """
    steps: tuple[tuple[float, Callable[[Image, Draw], Image]], ...] = (
        (tia_prob, _warped),
        (crop_prob, _cropped),
        (blur_prob, lambda image, _: cv2.GaussianBlur(image, (5, 5), 1)),
        (hsv_aug_prob, _lit),
        (jitter_prob, _jittered),
        (noise_prob, lambda image, draw: noisy(image, draw, VARIANCE)),
        (reverse_prob, lambda image, _: cv2.bitwise_not(image)),
    )

    def apply(line: TextLine, draw: Draw) -> TextLine:
        image = image_of(line)
        for probability, step in steps:
            if draw.random() < probability:
                image = step(image, draw)
        return replace(line, image=image)

    return apply


def _warped(image: Image, draw: Draw) -> Image:
    """Stretch columns, shift knots on both long edges, and move corners inwards; the border is repeated."""
    height, width = image.shape[:2]
    if min(height, width) < SMALLEST:
        return image
    segments = int(draw.integers(SEGMENTS[0], SEGMENTS[1] + 1))
    cut = width / segments
    knots = np.linspace(0, width - 1, segments + 1)
    x = np.stack([knots, knots])  # the source of each knot on the upper and the lower edge
    y = np.stack([np.zeros(segments + 1), np.full(segments + 1, height - 1.0)])
    x[:, 1:-1] += draw.uniform(-STRETCH, STRETCH, segments - 1) * cut
    x[:, 1:-1] += draw.uniform(-DISTORT, DISTORT, (2, segments - 1)) * cut
    y[:, 1:-1] += draw.uniform(-DISTORT, DISTORT, (2, segments - 1)) * min(cut, height)
    beyond = draw.uniform(0, PERSPECTIVE, (2, 2)) * height  # of the left and right corner of each edge
    y += np.array([[-1], [1]]) * (beyond[:, :1] + (beyond[:, 1:] - beyond[:, :1]) * knots / (width - 1))
    columns, down = np.arange(width), np.linspace(0, 1, height)[:, None]
    across, along = (
        ((1 - down) * np.interp(columns, knots, above) + down * np.interp(columns, knots, below)).astype(np.float32)
        for above, below in (x, y)
    )
    warped: Image = cv2.remap(image, across, along, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    return warped


def _cropped(image: Image, draw: Draw) -> Image:
    """Without some rows at the upper or the lower edge."""
    height, width = image.shape[:2]
    if min(height, width) < SMALLEST:
        return image
    rows = int(draw.integers(1, min(CROP, height // 5) + 1))
    return image[rows:] if draw.random() < 0.5 else image[:-rows]


def _lit(image: Image, draw: Draw) -> Image:
    """The value of HSV times a factor: hue and saturation stay if all channels are multiplied."""
    lit: Image = cv2.convertScaleAbs(image, alpha=draw.uniform(1 - LIGHT, 1 + LIGHT))
    return lit


def _jittered(image: Image, draw: Draw) -> Image:
    """The image shifted right and down over itself."""
    by = int(draw.integers(1, JITTER + 1))
    shifted = image.copy()
    shifted[by:, by:] = image[:-by, :-by]
    return shifted


MAX_TEXT_LENGTH = 25
"""Default of `max_text_length`."""


def join_lines(
    *,
    prob: float = 0.5,
    ext_data_num: int = 2,
    image_shape: Sequence[int] = (48, 320),
    max_text_length: int = MAX_TEXT_LENGTH,
) -> Mix[TextLine]:
    """With probability `prob` join up to `ext_data_num` more lines on the right, without a space between the texts.

    A further line is skipped if the result would be wider than `image_shape` (height, width), or if its text would need
    more than `max_text_length` time steps of CTC. Joined lines get the height of `image_shape`. Raises KitError if the
    label has been encoded already.
    """
    height, width = image_shape[:2]

    def mix(line: TextLine, generator: np.random.Generator, another: Callable[[], TextLine | None]) -> TextLine:
        if line.label:
            raise KitError(
                "ocr.line-join.recconaug-follows-transform",
                "RecConAug follows the transform that encodes labels",
                fix="put it before that one",
            )
        if generator.random() >= prob:
            return line
        images, text = [_at(height, line)], line.text
        for other in [another() for _ in range(ext_data_num)]:
            if other is None:
                continue
            image = _at(height, other)
            if (
                _steps(text + other.text) <= max_text_length
                and sum(part.shape[1] for part in (*images, image)) <= width
            ):
                images.append(image)
                text += other.text
        return replace(line, image=np.hstack(images), text=text) if len(images) > 1 else line

    return Mix(mix)


def _steps(text: str) -> int:
    """The most time steps that CTC needs for a text: equal neighbours have a blank between them."""
    folded = text.lower()
    return len(folded) + sum(before == after for before, after in pairwise(folded))


def _at(height: int, line: TextLine) -> NDArray[Any]:
    image = image_of(line)
    width = max(1, int(np.ceil(height * image.shape[1] / image.shape[0])))
    return cv2.resize(image, (width, height))
