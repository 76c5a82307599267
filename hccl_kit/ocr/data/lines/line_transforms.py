"""The steps of `transform_pipeline` for text recognition, as MindOCR names and parametrises them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import cv2
import numpy as np

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.charset import Charset
from hccl_kit.ocr.data.samples import BadSampleError, TextLine
from hccl_kit.ocr.data.transforms import Transform, image_of, normalize

MAX_TEXT_LEN: Mapping[str, int] = {"RecCTCLabelEncode": 23, "RecAttnLabelEncode": 25}
"""Characters of a label, where a step that encodes labels does not say."""
FLAT = 4.0
"""A standard deviation of grey values below which an image is taken for noise, and not enlarged to full contrast."""


def encode_label(
    *,
    max_text_len: int,
    character_dict_path: str | None = None,
    use_space_char: bool = False,
    lower: bool = False,
) -> Transform[TextLine]:
    """The text as class numbers; an empty label or one of more than `max_text_len` characters is a bad sample.

    MindOCR trains such a line too, as one without a text, and counts characters that the dictionary lacks.
    """
    charset = Charset.load(character_dict_path, use_space_char=use_space_char)
    small = makes_small(character_dict_path=character_dict_path, lower=lower)

    def apply(line: TextLine, _: np.random.Generator) -> TextLine:
        label = charset.encode(line.text, lower=small)
        if not label:
            raise BadSampleError(f"no character of {line.text!r} is in the dictionary")
        if len(label) > max_text_len:
            raise BadSampleError(f"{line.text[:40]!r} has {len(label)} characters, max_text_len is {max_text_len}")
        return replace(line, label=tuple(label))

    return apply


def makes_small(*, character_dict_path: str | None = None, lower: bool = False, **_: object) -> bool:
    """Whether `encode_label` with these options makes capitals small: always where 0-9 and a-z are the dictionary."""
    return lower or character_dict_path is None


def label_charset(
    *, character_dict_path: str | None = None, use_space_char: bool = False, **_: object
) -> frozenset[str]:
    """The characters that `encode_label` with these options keeps."""
    return frozenset(Charset.load(character_dict_path, use_space_char=use_space_char).characters)


def encode_class(*, label_list: Sequence[str]) -> Transform[TextLine]:
    """The number of the class that the text names; any other text is a bad sample."""
    numbers = {name: number for number, name in enumerate(label_list)}

    def apply(line: TextLine, _: np.random.Generator) -> TextLine:
        if line.text not in numbers:
            raise BadSampleError(f"{line.text[:40]!r} is none of the classes {', '.join(label_list)}")
        return replace(line, label=(numbers[line.text],))

    return apply


def resize(
    *,
    image_shape: Sequence[int],
    padding: bool = True,
    min_width: int = 1,
    infer_mode: bool = False,
    character_dict_path: str | None = None,
) -> Transform[TextLine]:
    """To height x width; with `padding` the ratio is kept, but for the stretch, and black fills the right side.

    Then what would be narrower than `min_width` is stretched to it, so that a narrow word has steps for its characters
    (Shi, Bai, Yao 2015, section 3.2: at least 100 pixels). `infer_mode` means padding too where there is a dictionary,
    as in MindOCR. KitError where `min_width` is more than the width, or there is no padding.
    """
    height, width = image_shape
    keeps_ratio = padding or (infer_mode and character_dict_path is not None)
    if min_width > 1 and not keeps_ratio:
        raise KitError("RecResizeImg: min_width needs padding: True, else every line is stretched to the whole width")
    if min_width > width:
        raise KitError(f"RecResizeImg: min_width is {min_width}; accepted: at most the {width} of image_shape")

    def apply(line: TextLine, _: np.random.Generator) -> TextLine:
        image = image_of(line)
        inner = min(width, max(min_width, _width_at(height, line))) if keeps_ratio else width
        small = cv2.resize(image, (inner, height))
        filled = cv2.copyMakeBorder(small, 0, 0, 0, width - inner, cv2.BORDER_CONSTANT)
        return replace(line, image=filled, columns=inner)

    return apply


def resize_of_svtr(*, image_shape: Sequence[int], padding: bool = True) -> Transform[TextLine]:
    """As `resize`, without the options that SVTR has no use for (MindOCR's SVTRRecResizeImg)."""
    return resize(image_shape=image_shape, padding=padding)


def resize_and_normalize(
    *,
    target_height: int = 32,
    target_width: int = 320,
    keep_ratio: bool = True,
    padding: bool = False,
    norm_before_pad: bool = False,
    mean: Sequence[float] = (127.0,) * 3,
    std: Sequence[float] = (127.0,) * 3,
) -> Transform[TextLine]:
    """To the height, and with `keep_ratio` to at most the width; then (pixel - mean) / std, and with `padding` black on
    the right up to the width, or zeros where the normalisation comes before.
    """
    scale: Transform[TextLine] = normalize(mean=mean, std=std)

    def apply(line: TextLine, generator: np.random.Generator) -> TextLine:
        image = image_of(line)
        inner = min(target_width, _width_at(target_height, line)) if keep_ratio else target_width
        line = replace(line, image=cv2.resize(image, (inner, target_height)), columns=inner)
        fill = target_width - inner if padding else 0
        if norm_before_pad:
            return _filled(scale(line, generator), fill)
        return scale(_filled(line, fill), generator)

    return apply


def rotate_if_vertical(*, threshold: float = 1.5, direction: str = "counterclockwise") -> Transform[TextLine]:
    """By 90 degrees, where the image is more than `threshold` times as high as wide."""
    turn = cv2.ROTATE_90_COUNTERCLOCKWISE if direction == "counterclockwise" else cv2.ROTATE_90_CLOCKWISE

    def apply(line: TextLine, _: np.random.Generator) -> TextLine:
        image = image_of(line)
        height, width = image.shape[:2]
        return replace(line, image=cv2.rotate(image, turn)) if height > threshold * width else line

    return apply


def dark_on_light(*, contrast: float = 50) -> Transform[TextLine]:
    """Three equal channels of grey with mean 127 and a standard deviation of `contrast`, and signs darker than what is
    behind them, so that a network need not learn each of these from examples.

    Signs cover less of a line than their background does: where few pixels are far above the mean, and not far below
    it (a positive third moment), the image is turned into its negative. Channels are taken for blue, green and red.
    KitError where the pixels are no bytes any more.
    """

    def apply(line: TextLine, _: np.random.Generator) -> TextLine:
        image = image_of(line)
        if image.dtype != np.uint8:
            raise KitError(
                f"DarkOnLight takes pixels of uint8, these are {image.dtype}", hint="put it before NormalizeImage"
            )
        grey = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY).astype(np.float32)
        grey -= grey.mean()
        squares = grey * grey  # quicker than powers
        deviation = max(float(np.sqrt(squares.mean())), FLAT)
        sign = -1 if float((squares * grey).mean()) > 0 else 1
        standard = np.clip(np.rint(127 + grey * (sign * contrast / deviation)), 0, 255).astype(np.uint8)
        return replace(line, image=cv2.merge([standard] * 3))

    return apply


def _width_at(height: int, line: TextLine) -> int:
    """The width that keeps the ratio at a height, times the stretch of the line."""
    h, w = image_of(line).shape[:2]
    return max(1, int(np.ceil(height * w / h * line.stretch)))


def _filled(line: TextLine, columns: int) -> TextLine:
    """With zeros in so many columns more on the right."""
    return replace(line, image=np.pad(image_of(line), ((0, 0), (0, columns), (0, 0))))
