"""What a program must know that runs an exported network: the size of its images, and what becomes of their pixels."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from inspect import signature
from typing import Any

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.charset import Charset
from hccl_kit.ocr.config import DECODING, Config
from hccl_kit.ocr.data.pages import page_transforms
from hccl_kit.ocr.data.pipeline import TRANSFORMS
from hccl_kit.ocr.data.transforms import IMAGENET
from hccl_kit.ocr.tasks import classification, detection_heads, recognition, text_heads

Size = tuple[int, int]
MAX_PIXELS = 2**25
"""Of all images of a batch: 32 of 1024 x 1024."""
NORMALISING = ("NormalizeImage", "Normalize", recognition.RESIZE_FOR_INFERENCE)
RESIZING = (*recognition.RESIZES, recognition.RESIZE_FOR_INFERENCE, "Rotate90IfVertical", "DarkOnLight")
INTERPOLATION = "INTER_LINEAR"
"""Of every step that resizes: between the four nearest pixels, also where an image becomes much smaller."""
BEFORE, AFTER = "before normalising", "after normalising"
RESIZING_PAGES = ("DetResize", "ScalePadImage", "GridResize")


def input_shape(config: Config, given: Sequence[int] | None, batch: int) -> tuple[int, int, int, int]:
    """(batch, 3, height, width) of the images: `given`, or the size that the pipeline of the evaluation makes.

    KitError where that size varies, does not suit the network or takes too much memory.
    """
    is_page = config["model"]["type"] == "det"
    height, width = _page_size(config, given) if is_page else _line_size(config, given)
    if batch < 1 or min(height, width) < 1 or batch * height * width > MAX_PIXELS:
        raise KitError(
            f"{batch} images of {height} x {width}: accepted are from 1 pixel to {MAX_PIXELS} in all",
            hint="see --batch and --shape",
        )
    return batch, 3, height, width


def _page_size(config: Config, given: Sequence[int] | None) -> Size:
    height, width = given or _fixed_size(config)
    stride = detection_heads.of(config).stride
    if height % stride or width % stride:
        near = " ".join(str(max(1, round(side / stride)) * stride) for side in (height, width))
        raise KitError(f"images of {height} x {width}: the network takes multiples of {stride}", hint=f"--shape {near}")
    return height, width


def _fixed_size(config: Config) -> Size:
    """What DetResize or ScalePadImage make of every page."""
    for name, options in _steps(config):
        target = options.get("target_size") if name in RESIZING_PAGES else None
        if target and (name == "ScalePadImage" or options.get("padding") or not options.get("keep_ratio", True)):
            return page_transforms.target_of(**options) if name == "DetResize" else (target[0], target[1])
    raise KitError(
        "the evaluation takes pages of many sizes, and an exported network takes one", hint="add --shape 736 1280"
    )


def _line_size(config: Config, given: Sequence[int] | None) -> Size:
    height, width = recognition.image_shape(config, "eval")
    if given and given[0] != height:
        raise KitError(
            f"--shape {given[0]} {given[1]}: the evaluation makes lines {height} high", hint=f"--shape {height} WIDTH"
        )
    return height, given[1] if given else width


def facts(config: Config) -> dict[str, str]:
    """What a file says of its network, by key; lists and options as JSON.

    `colours`, `mean` and `std` (in this order of the channels, of pixels from 0 to 255); `resize`, the steps of the
    pipeline that change the shape of an image or its grey values, with all their options, but the input of the file has
    the last word on the size; `interpolation`, as OpenCV names it; `padding`, null or what an image that keeps its
    ratio is filled up with, see `_padding`; `postprocess`, whose name says what the outputs are; of a recognition
    `characters`, what every class stands for: null is the blank of CTC, "<go>" and "<stop>" are those of a head that
    spells; of a classification `classes`, their names.
    """
    colours, mean, std = _pixels(config)
    post = {
        key: value for key, value in config["postprocess"].items() if key not in ("character_dict_path", "label_list")
    }
    resizing = RESIZING_PAGES if config["model"]["type"] == "det" else RESIZING
    values: dict[str, Any] = {
        "mean": mean,
        "std": std,
        "resize": [{name: _all_options(name, options)} for name, options in _steps(config) if name in resizing],
        "padding": _padding(config),
        "postprocess": post,
    }
    if config["model"]["type"] == "cls":
        values["classes"] = classification.labels_of(config)
    if config["model"]["type"] == "rec":
        section = config["postprocess"]
        charset = Charset.load(section["character_dict_path"], use_space_char=section["use_space_char"])
        values["characters"] = text_heads.of(config).signs(charset)
    names = {"colours": colours, "interpolation": INTERPOLATION}
    return names | {key: json.dumps(value, ensure_ascii=False) for key, value in values.items()}


def _padding(config: Config) -> dict[str, Any] | None:
    """What fills up an image that keeps its ratio: the value, on which sides, and whether before it is normalised.

    Of a line, height times the width of the source over its height are left of it, rounded up, if there is room.
    """
    for name, given in _steps(config):
        options = _all_options(name, given)
        if name == "ScalePadImage" or (name == "DetResize" and _fills_page(options)):
            return {"value": 0, "sides": ["below", "right"], "filled": BEFORE}
        if name == recognition.RESIZE_FOR_INFERENCE and options["padding"]:
            return {"value": 0, "sides": ["right"], "filled": AFTER if options["norm_before_pad"] else BEFORE}
        if name in recognition.RESIZES and (options["padding"] or _infers_padding(options)):
            return {"value": 0, "sides": ["right"], "filled": BEFORE}
    return None


def _fills_page(options: Mapping[str, Any]) -> bool:
    return bool(options["target_size"] and options["keep_ratio"] and options["padding"])


def _infers_padding(options: Mapping[str, Any]) -> bool:
    return bool(options.get("infer_mode") and options.get("character_dict_path"))


def _all_options(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a step with the defaults of those that are not given."""
    parameters = signature(TRANSFORMS[name]).parameters.values()
    defaults = {one.name: one.default for one in parameters if one.default is not one.empty}
    return {**defaults, **given}


def _pixels(config: Config) -> tuple[str, list[float], list[float]]:
    """The order of the channels that the network sees, and mean and deviation of each."""
    colours, normal = "BGR", {"mean": [0.0] * 3, "std": [1.0] * 3}
    for name, options in _steps(config):
        if name in DECODING:
            colours = options.get("img_mode", "RGB" if name == "Decode" else "BGR")
        if name in NORMALISING:
            default = 127.0 if name == recognition.RESIZE_FOR_INFERENCE else "imagenet"
            normal = {key: _each(key, options.get(key, default)) for key in normal}
            if options.get("bgr_to_rgb") or options.get("rgb_to_bgr"):
                colours = colours[::-1]
    return colours, normal["mean"], normal["std"]


def _each(key: str, value: Any) -> list[float]:
    """Of each channel; of ImageNet's photos by that name."""
    if value == "imagenet":
        return list(IMAGENET[key])
    return [float(value)] * 3 if isinstance(value, (int, float)) else [float(one) for one in value]


def _steps(config: Config) -> list[tuple[str, Mapping[str, Any]]]:
    """The names and options of the steps of the evaluation."""
    rows = config["eval"]["dataset"]["transform_pipeline"]
    return [(name, options or {}) for row in rows for name, options in row.items()]
