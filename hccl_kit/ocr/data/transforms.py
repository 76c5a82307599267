"""The steps of `transform_pipeline` that know only the image, as MindOCR names and parametrises them.

A step is a pure function of a sample and a generator. What is random comes from the generator alone, so the seed, the
epoch and the number of the sample decide it, whatever rank or thread runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data.image_file import MAX_PIXELS, NOT_AN_IMAGE, read_image
from hccl_kit.ocr.data.samples import BadSampleError, Sample

S = TypeVar("S", bound=Sample)
Transform = Callable[[S, np.random.Generator], S]


class ImageTransform(Protocol):
    """A step for samples of every kind: it looks at the image alone."""

    def __call__(self, sample: S, generator: np.random.Generator, /) -> S:
        """The sample with another image."""


IMAGENET = {"mean": (123.675, 116.28, 103.53), "std": (58.395, 57.12, 57.375)}
"""Of the red, green and blue of ImageNet's photos, in 0 to 255."""
GREY = np.tile([0.299, 0.587, 0.114], (3, 1))
"""From red, green and blue to three equal channels of their luminance (ITU-R BT.601)."""


def image_of(sample: Sample) -> NDArray[Any]:
    """The image of a sample; KitError where the pipeline asks for it before DecodeImage."""
    if sample.image is None:
        raise KitError("transform_pipeline needs DecodeImage before its other steps")
    return sample.image


REDUCED = {
    1: cv2.IMREAD_COLOR,
    2: cv2.IMREAD_REDUCED_COLOR_2,
    4: cv2.IMREAD_REDUCED_COLOR_4,
    8: cv2.IMREAD_REDUCED_COLOR_8,
}


def decode_image(
    *,
    img_mode: str = "BGR",
    to_float32: bool = False,
    ignore_orientation: bool = False,
    reduce: int = 1,
    max_pixels: int = MAX_PIXELS,
) -> ImageTransform:
    """The file as HxWx3 uint8; a gray image becomes three equal channels. An image that is there already stays.

    The turn of a photo that its EXIF tells is applied, as OpenCV does it, but for `ignore_orientation`. `reduce` 2, 4
    or 8 gives 1/2, 1/4 or 1/8 of height and width, rounded up: of a JPEG only so much is decoded. That is for photos
    that a later step would make as small anyway; the result is close to it, not equal. An image of more than
    `max_pixels` is a bad sample, and is not decoded.
    """
    if reduce not in REDUCED:
        raise KitError(f"DecodeImage: reduce is {reduce}; accepted: {', '.join(map(str, REDUCED))}")
    flags = REDUCED[reduce] | (cv2.IMREAD_IGNORE_ORIENTATION if ignore_orientation else 0)

    def apply(sample: S, _: np.random.Generator) -> S:
        if sample.image is None:
            image = _read(sample, flags, max_pixels)
            sample = replace(sample, image=cv2.cvtColor(image, cv2.COLOR_BGR2RGB) if img_mode == "RGB" else image)
            sample = sample if reduce == 1 else sample.reduced(reduce)
        return replace(sample, image=image_of(sample).astype(np.float32)) if to_float32 else sample

    return apply


def _read(sample: Sample, flags: int, max_pixels: int) -> NDArray[Any]:
    data = read_image(sample, max_pixels)
    try:
        image = cv2.imdecode(np.frombuffer(data, np.uint8), flags)
    except cv2.error as error:
        raise BadSampleError(str(error).strip()) from error
    if image is None:
        raise BadSampleError(NOT_AN_IMAGE)
    return image


def normalize(
    *,
    bgr_to_rgb: bool = False,
    rgb_to_bgr: bool = False,
    is_hwc: bool = True,
    mean: Sequence[float] | str = "imagenet",
    std: Sequence[float] | str = "imagenet",
) -> ImageTransform:
    """(pixel - mean) / std, per channel, as float32; `is_hwc` False: the image is CxHxW already.

    The channels lie one after the other in memory, so `to_chw` moves no byte. A uint8 has 256 values: their results
    are looked up, which is several times faster than arithmetic and equal to it.
    """
    shift, scale = (
        np.asarray(IMAGENET[name] if value == "imagenet" else value, np.float32)
        for name, value in (("mean", mean), ("std", std))
    )
    if not scale.all():
        raise KitError(f"NormalizeImage: std {list(std)} holds a zero")
    tables = (np.arange(256, dtype=np.float32) - shift[:, None]) / scale[:, None]
    swap = bgr_to_rgb or rgb_to_bgr

    def apply(sample: S, _: np.random.Generator) -> S:
        image = image_of(sample)
        planes = list(cv2.split(image) if is_hwc else image)[:: -1 if swap else 1]
        result = np.empty((len(planes), *planes[0].shape), np.float32)
        for channel, plane in enumerate(planes):
            if plane.dtype == np.uint8:
                cv2.LUT(plane, tables[channel], dst=result[channel])
            else:
                result[channel] = (plane.astype(np.float32) - shift[channel]) / scale[channel]
        return replace(sample, image=result.transpose(1, 2, 0) if is_hwc else result)

    return apply


def to_chw() -> ImageTransform:
    """From HxWxC to CxHxW, as networks take it."""

    def apply(sample: S, _: np.random.Generator) -> S:
        return replace(sample, image=np.ascontiguousarray(image_of(sample).transpose(2, 0, 1)))

    return apply


def random_colour_adjust(
    *,
    brightness: float | Sequence[float] = 32 / 255,
    contrast: float | Sequence[float] = (1, 1),
    saturation: float | Sequence[float] = 0.5,
) -> ImageTransform:
    """Brighter or darker, harder or softer, more or less colourful, for an image in RGB.

    Each is a factor out of a range (lowest, highest); a number x stands for 1 - x to 1 + x. A contrast of 0 would
    leave the mean grey of the image, a saturation of 0 the grey of each pixel.
    """
    options = {"brightness": brightness, "contrast": contrast, "saturation": saturation}
    ranges = [_around_one(name, value) for name, value in options.items()]

    def apply(sample: S, generator: np.random.Generator) -> S:
        image = image_of(sample)
        bright, hard, colourful = (generator.uniform(*limits) for limits in ranges)
        # All three are sums of the channels, so one matrix does them in one pass over the image.
        mix = bright * hard * (colourful * np.eye(3) + (1 - colourful) * GREY)
        shift = 0.0 if hard == 1 else bright * (1 - hard) * float(GREY[0] @ cv2.mean(image)[:3])
        return replace(sample, image=cv2.transform(image, np.column_stack([mix, np.full(3, shift)])))

    return apply


def _around_one(name: str, value: float | Sequence[float]) -> tuple[float, float]:
    low, high = (max(0.0, 1 - value), 1 + value) if isinstance(value, (int, float)) else value
    if not 0 <= low <= high:
        raise KitError(f"RandomColorAdjust: {name} is {value}; accepted: a number from 0 on, or [lowest, highest]")
    return low, high
