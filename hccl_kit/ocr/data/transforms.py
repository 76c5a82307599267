"""The transforms that depend on the image alone, with MindOCR's names and options.

A transform is a pure function of a sample and a generator. All randomness comes from the generator, which is seeded by
run, epoch and number of the sample: results do not depend on the rank or thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.config import DECODING
from hccl_kit.ocr.data.image_file import MAX_PIXELS, NOT_AN_IMAGE, read_image
from hccl_kit.ocr.data.samples import BadSampleError, Sample

S = TypeVar("S", bound=Sample)
Transform = Callable[[S, np.random.Generator], S]


class ImageTransform(Protocol):
    """A transform for any kind of sample: it uses the image alone."""

    def __call__(self, sample: S, generator: np.random.Generator, /) -> S:
        """The sample with another image."""


@dataclass(frozen=True, slots=True)
class Mix(Generic[S]):
    """A transform that combines a sample with others of the training set, drawn by the same generator.

    `mix` gets a function that returns one more sample, made by `prepare`: in a pipeline, the transforms before this
    one. It returns None for a sample that cannot be read, which is reported when its own turn comes, and if there are
    no others.
    """

    mix: Callable[[S, np.random.Generator, Callable[[], S | None]], S]
    prepare: Transform[S] = field(default=lambda sample, _: sample)

    def __call__(self, sample: S, generator: np.random.Generator) -> S:
        """The sample with parts of others."""

        def another() -> S | None:
            if not sample.others:
                return None
            other: S = sample.others[int(generator.integers(len(sample.others)))]
            try:
                return self.prepare(other, generator)
            except BadSampleError:
                return None

        return self.mix(sample, generator, another)


IMAGENET = {"mean": (123.675, 116.28, 103.53), "std": (58.395, 57.12, 57.375)}
"""Mean and deviation of ImageNet's photos in RGB, from 0 to 255."""
GREY = np.tile([0.299, 0.587, 0.114], (3, 1))
"""From RGB to three equal channels of luminance (ITU-R BT.601)."""


def image_of(sample: Sample) -> NDArray[Any]:
    """The image of a sample. Raises KitError if it has not been decoded."""
    if sample.image is None:
        raise KitError(
            "ocr.transforms.transform-pipeline-needs",
            "transform_pipeline needs DecodeImage before the other transforms",
        )
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
    """Decode the file to HxWx3 uint8, a grey image to three equal channels. An image that is decoded already stays.

    The EXIF orientation is applied, as in OpenCV, unless `ignore_orientation`. `reduce` 2, 4 or 8 decodes at 1/2, 1/4
    or 1/8 of height and width, rounded up, which is faster for JPEG: for photos that a later transform would shrink
    anyway. The result is close to decoding at full size, but not equal. An image of more than `max_pixels` is a bad
    sample and is not decoded.
    """
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

    The channels are contiguous in memory, so that `to_chw` copies nothing. For uint8 the 256 results are looked up,
    which is several times faster than arithmetic and gives the same values.
    """
    shift, scale = (
        np.asarray(IMAGENET[name] if value == "imagenet" else value, np.float32)
        for name, value in (("mean", mean), ("std", std))
    )
    if not scale.all():
        raise KitError(
            "ocr.transforms.normalizeimage-std-holds", "NormalizeImage: std {std} holds a zero", std=list(std)
        )
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
    """From HxWxC to CxHxW."""

    def apply(sample: S, _: np.random.Generator) -> S:
        return replace(sample, image=np.ascontiguousarray(image_of(sample).transpose(2, 0, 1)))

    return apply


def random_colour_adjust(
    *,
    brightness: float | Sequence[float] = 32 / 255,
    contrast: float | Sequence[float] = (1, 1),
    saturation: float | Sequence[float] = 0.5,
) -> ImageTransform:
    """Random brightness, contrast and saturation of an image in RGB.

    Each is a factor from a range (lowest, highest); a number x stands for 1 - x to 1 + x. Contrast 0 gives the mean
    grey of the image, saturation 0 the grey of each pixel.
    """
    options = {"brightness": brightness, "contrast": contrast, "saturation": saturation}
    ranges = [_around_one(name, value) for name, value in options.items()]

    def apply(sample: S, generator: np.random.Generator) -> S:
        image = image_of(sample)
        bright, hard, colourful = (generator.uniform(*limits) for limits in ranges)
        # All three are linear in the channels: one matrix applies them in one pass over the image.
        mix = bright * hard * (colourful * np.eye(3) + (1 - colourful) * GREY)
        shift = 0.0 if hard == 1 else bright * (1 - hard) * float(GREY[0] @ cv2.mean(image)[:3])
        return replace(sample, image=cv2.transform(image, np.column_stack([mix, np.full(3, shift)])))

    return apply


def colour_jitter(
    *, brightness: float = 0.5, contrast: float = 0.5, saturation: float = 0.5, hue: float = 0.1, p: float = 0.5
) -> ImageTransform:
    """With probability `p` random brightness, contrast, saturation (factors around 1) and hue (a share of the circle).

    Expects RGB; with BGR the mean grey, about which the contrast changes, has the weights of red and blue swapped.
    """

    def apply(sample: S, draw: np.random.Generator) -> S:
        if draw.random() >= p:
            return sample
        image = image_of(sample).astype(np.float32) * draw.uniform(max(0.0, 1 - brightness), 1 + brightness)
        grey = float(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY).mean())
        image = (image - grey) * draw.uniform(max(0.0, 1 - contrast), 1 + contrast) + grey
        hsv = cv2.cvtColor(np.clip(image, 0, 255) / 255, cv2.COLOR_RGB2HSV)
        hsv[..., 0] = (hsv[..., 0] + 360 * draw.uniform(-hue, hue)) % 360
        hsv[..., 1] = np.clip(hsv[..., 1] * draw.uniform(max(0.0, 1 - saturation), 1 + saturation), 0, 1)
        return replace(sample, image=np.rint(cv2.cvtColor(hsv, cv2.COLOR_HSV2RGB) * 255).astype(np.uint8))

    return apply


def _around_one(name: str, value: float | Sequence[float]) -> tuple[float, float]:
    if isinstance(value, (int, float)):
        return max(0.0, 1 - value), 1 + value
    return ascending(f"RandomColorAdjust: {name}", value)


def ascending(name: str, values: Sequence[float]) -> tuple[float, float]:
    """The two numbers of a range. Raises KitError if the first one is greater."""
    if values[0] > values[1]:
        raise KitError(
            "ocr.transforms.range", "{name} is {values}; accepted: [lowest, highest]", name=name, values=list(values)
        )
    return values[0], values[1]


RESIZE_FOR_INFERENCE = "RecResizeNormForInfer"
NORMALISING = ("NormalizeImage", "Normalize", RESIZE_FOR_INFERENCE)


@dataclass(frozen=True, slots=True)
class PixelFormat:
    """Channels in the order of `colours`, RGB or BGR, each (pixel - mean) / std of a pixel from 0 to 255."""

    colours: str
    mean: tuple[float, ...]
    std: tuple[float, ...]

    def restored(self, image: NDArray[np.float32]) -> NDArray[np.uint8]:
        """The image HxWx3 uint8, BGR, for the input CxHxW of a network."""
        pixels = image.transpose(1, 2, 0) * np.array(self.std, np.float32) + np.array(self.mean, np.float32)
        bgr = pixels if self.colours == "BGR" else pixels[..., ::-1]
        return np.ascontiguousarray(np.clip(np.rint(bgr), 0, 255).astype(np.uint8))


def pixel_format(transforms: Iterable[tuple[str, Mapping[str, Any]]]) -> PixelFormat:
    """The format after the transforms of a pipeline, given by name and options."""
    made = PixelFormat("BGR", (0.0,) * 3, (1.0,) * 3)
    for name, options in transforms:
        colours, mean, std = made.colours, made.mean, made.std
        if name in DECODING:
            colours = options.get("img_mode", "RGB" if name == "Decode" else "BGR")
        if name in NORMALISING:
            default = 127.0 if name == RESIZE_FOR_INFERENCE else "imagenet"
            mean, std = (_each(key, options.get(key, default)) for key in ("mean", "std"))
            if options.get("bgr_to_rgb") or options.get("rgb_to_bgr"):
                colours = colours[::-1]
        made = PixelFormat(colours, mean, std)
    return made


def _each(key: str, value: Any) -> tuple[float, ...]:
    """One value for each channel; `imagenet` stands for those of ImageNet."""
    if value == "imagenet":
        return tuple(IMAGENET[key])
    return (float(value),) * 3 if isinstance(value, (int, float)) else tuple(float(number) for number in value)
