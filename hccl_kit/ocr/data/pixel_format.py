"""The pixel format after a pipeline: the order of the channels, and their mean and deviation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hccl_kit.ocr.config import DECODING
from hccl_kit.ocr.data.transforms import IMAGENET

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
