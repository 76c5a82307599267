"""RecConAug: lines joined side by side, so that a recogniser sees longer texts than its words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data.samples import TextLine
from hccl_kit.ocr.data.transforms import Mix, image_of

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
