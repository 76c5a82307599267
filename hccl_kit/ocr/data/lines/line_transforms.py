"""The transforms of text lines, with MindOCR's names and options."""

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
"""Default of `max_text_len` for each transform that encodes labels."""
FLAT = 4.0
"""A standard deviation of grey values below which an image is noise, and is not stretched to full contrast."""


def encode_label(
    *, max_text_len: int, character_dict_path: str | None = None, use_space_char: bool = False, lower: bool = False
) -> Transform[TextLine]:
    """The text as class numbers; an empty label or one of more than `max_text_len` characters is a bad sample.

    MindOCR trains such a line as one without text, and counts characters that the dictionary lacks.
    """
    charset = Charset.load(character_dict_path, use_space_char=use_space_char)
    lower = lowers_case(character_dict_path=character_dict_path, lower=lower)

    def apply(line: TextLine, _: np.random.Generator) -> TextLine:
        label = charset.encode(line.text, lower=lower)
        if not label:
            raise BadSampleError(f"no character of {line.text!r} is in the dictionary")
        if len(label) > max_text_len:
            raise BadSampleError(f"{line.text[:40]!r} has {len(label)} characters, max_text_len is {max_text_len}")
        return replace(line, label=tuple(label))

    return apply


def lowers_case(*, character_dict_path: str | None = None, lower: bool = False, **_: object) -> bool:
    """Whether `encode_label` with these options converts to lower case; it always does for the default dictionary."""
    return lower or character_dict_path is None


def label_charset(
    *, character_dict_path: str | None = None, use_space_char: bool = False, **_: object
) -> frozenset[str]:
    """The characters that `encode_label` with these options keeps."""
    return frozenset(Charset.load(character_dict_path, use_space_char=use_space_char).characters)


def encode_class(*, label_list: Sequence[str]) -> Transform[TextLine]:
    """The number of the class that the text names; a text that names no class is a bad sample."""
    numbers = {name: number for number, name in enumerate(label_list)}

    def apply(line: TextLine, _: np.random.Generator) -> TextLine:
        if line.text not in numbers:
            raise BadSampleError(f"{line.text[:40]!r} is not one of the classes {', '.join(label_list)}")
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
    """Resize to height x width; `padding` keeps the ratio, times the line's stretch, and fills the right with black.

    A padded line narrower than `min_width` is stretched to it, so that a narrow word has time steps for its characters
    (Shi, Bai, Yao 2015, section 3.2: at least 100 pixels). `infer_mode` with a dictionary also pads, as in MindOCR.
    Raises KitError if `min_width` exceeds the width, or is given without padding.
    """
    height, width = image_shape
    keeps_ratio = padding or (infer_mode and character_dict_path is not None)
    if min_width > 1 and not keeps_ratio:
        raise KitError(
            "ocr.line-transforms.recresizeimg-min-width",
            "RecResizeImg: min_width needs padding: True, else every line is stretched to the whole width",
        )
    if min_width > width:
        raise KitError(
            "ocr.line-transforms.recresizeimg-min-width-image",
            "RecResizeImg: min_width is {min_width}; accepted: at most the {width} of image_shape",
            min_width=min_width,
            width=width,
        )

    def apply(line: TextLine, _: np.random.Generator) -> TextLine:
        image = image_of(line)
        inner = min(width, max(min_width, _width_at(height, line))) if keeps_ratio else width
        small = cv2.resize(image, (inner, height))
        filled = cv2.copyMakeBorder(small, 0, 0, 0, width - inner, cv2.BORDER_CONSTANT)
        return replace(line, image=filled, columns=inner)

    return apply


def resize_of_svtr(*, image_shape: Sequence[int], padding: bool = True) -> Transform[TextLine]:
    """`resize` with the options of MindOCR's SVTRRecResizeImg."""
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
    """Resize to the height, with `keep_ratio` to at most the width, then normalise: (pixel - mean) / std.

    `padding` fills the right side up to the width: with black, or with zeros after normalising if `norm_before_pad`.
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
    """Rotate by 90 degrees if the image is more than `threshold` times as high as wide."""
    turn = cv2.ROTATE_90_COUNTERCLOCKWISE if direction == "counterclockwise" else cv2.ROTATE_90_CLOCKWISE

    def apply(line: TextLine, _: np.random.Generator) -> TextLine:
        image = image_of(line)
        height, width = image.shape[:2]
        return replace(line, image=cv2.rotate(image, turn)) if height > threshold * width else line

    return apply


def dark_on_light(*, contrast: float = 50) -> Transform[TextLine]:
    """Normalise polarity and contrast: three equal grey channels, mean 127, standard deviation `contrast`, dark text.

    Text covers less of a line than its background: if few pixels lie far above the mean (a positive third moment), the
    image is inverted. Expects BGR. Raises KitError if the pixels are not uint8.
    """

    def apply(line: TextLine, _: np.random.Generator) -> TextLine:
        image = image_of(line)
        if image.dtype != np.uint8:
            raise KitError(
                "ocr.line-transforms.darkonlight-takes-pixels",
                "DarkOnLight takes pixels of uint8, these are {dtype}",
                fix="put it before NormalizeImage",
                dtype=image.dtype,
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
    """The width that keeps the ratio at a height, times the line's stretch."""
    h, w = image_of(line).shape[:2]
    return max(1, int(np.ceil(height * w / h * line.stretch)))


def _filled(line: TextLine, columns: int) -> TextLine:
    """The line with `columns` columns of zeros on its right."""
    return replace(line, image=np.pad(image_of(line), ((0, 0), (0, columns), (0, 0))))
