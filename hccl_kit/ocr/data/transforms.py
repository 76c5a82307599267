"""The steps of `transform_pipeline`, each a pure function from sample to sample, named as MindOCR names them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import cv2
import numpy as np

from hccl_kit.errors import KitError
from hccl_kit.ocr.charset import Charset
from hccl_kit.ocr.data.samples import BadSampleError, Sample

MAX_TEXT_LEN = 24
"""Characters of a label, where RecCTCLabelEncode does not say."""

Transform = Callable[[Sample], Sample]


def decode_image(*, img_mode: str = "BGR") -> Transform:
    """The file as HxWx3 uint8; a gray image becomes three equal channels. An image that is there already stays."""

    def apply(sample: Sample) -> Sample:
        if sample.image is not None:
            return sample
        try:
            data = np.fromfile(sample.path, np.uint8)
            image = cv2.imdecode(data, cv2.IMREAD_COLOR) if data.size else None
        except OSError as error:
            raise BadSampleError(str(error.strerror)) from error
        except (ValueError, cv2.error) as error:  # a path with a zero byte; more than 2^30 pixels
            raise BadSampleError(str(error).strip()) from error
        if image is None:
            raise BadSampleError("not an image that OpenCV reads")
        return replace(sample, image=image[:, :, ::-1] if img_mode == "RGB" else image)

    return apply


def encode_label(
    *,
    max_text_len: int = MAX_TEXT_LEN,
    character_dict_path: str | None = None,
    use_space_char: bool = False,
    lower: bool = True,
) -> Transform:
    """The text as class numbers; an empty label or one of more than `max_text_len` characters is a bad sample."""
    charset = Charset.load(character_dict_path, use_space_char=use_space_char)

    def apply(sample: Sample) -> Sample:
        label = charset.encode(sample.text, lower=lower)
        if not label:
            raise BadSampleError(f"no character of {sample.text!r} is in the dictionary")
        if len(label) > max_text_len:
            raise BadSampleError(f"{sample.text[:40]!r} has {len(label)} characters, max_text_len is {max_text_len}")
        return replace(sample, label=tuple(label))

    return apply


def label_charset(
    *, character_dict_path: str | None = None, use_space_char: bool = False, **_: object
) -> frozenset[str]:
    """The characters that `encode_label` with these options keeps."""
    return frozenset(Charset.load(character_dict_path, use_space_char=use_space_char).characters)


def resize(*, image_shape: Sequence[int], padding: bool = False) -> Transform:
    """To height x width; with `padding` the ratio is kept and black fills the right side."""
    height, width = image_shape

    def apply(sample: Sample) -> Sample:
        assert sample.image is not None
        h, w = sample.image.shape[:2]
        inner = min(width, max(1, int(np.ceil(height * w / h)))) if padding else width
        image = cv2.resize(sample.image, (inner, height))
        return replace(sample, image=cv2.copyMakeBorder(image, 0, 0, 0, width - inner, cv2.BORDER_CONSTANT))

    return apply


def normalize(
    *, bgr_to_rgb: bool = False, mean: Sequence[float] = (127.0,) * 3, std: Sequence[float] = (127.0,) * 3
) -> Transform:
    """(pixel - mean) / std, per channel, as float32."""
    shift, scale = np.asarray(mean, np.float32), np.asarray(std, np.float32)
    if not scale.all():
        raise KitError(f"NormalizeImage: std {list(std)} holds a zero")

    def apply(sample: Sample) -> Sample:
        assert sample.image is not None
        image = sample.image[:, :, ::-1] if bgr_to_rgb else sample.image
        return replace(sample, image=(image.astype(np.float32) - shift) / scale)

    return apply


def to_chw() -> Transform:
    """From HxWxC to CxHxW, as networks take it."""

    def apply(sample: Sample) -> Sample:
        assert sample.image is not None
        return replace(sample, image=np.ascontiguousarray(sample.image.transpose(2, 0, 1)))

    return apply


TRANSFORMS: Mapping[str, Callable[..., Transform]] = {
    "DecodeImage": decode_image,
    "RecCTCLabelEncode": encode_label,
    "RecResizeImg": resize,
    "NormalizeImage": normalize,
    "ToCHWImage": to_chw,
}
LABEL_TRANSFORM = "RecCTCLabelEncode"


def pipeline(steps: Sequence[Mapping[str, Any]], *, labels: bool = True) -> Transform:
    """The steps of a configuration, one after the other; without `labels` (prediction), those of the image only."""
    made = [
        TRANSFORMS[name](**(options or {}))
        for step in steps
        for name, options in step.items()
        if labels or name != LABEL_TRANSFORM
    ]

    def apply(sample: Sample) -> Sample:
        for transform in made:
            sample = transform(sample)
        return sample

    return apply
