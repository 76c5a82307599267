"""What a program that runs an exported network must know: the input size, and the preprocessing of the pixels."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from inspect import signature
from typing import Any

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.charset import Charset
from hccl_kit.ocr.config import Config
from hccl_kit.ocr.data.pages import page_transforms
from hccl_kit.ocr.data.pipeline import TRANSFORMS
from hccl_kit.ocr.data.transforms import RESIZE_FOR_INFERENCE, pixel_format
from hccl_kit.ocr.tasks import classification, detection, line_images, text_heads

Size = tuple[int, int]
MAX_PIXELS = 2**25
"""Limit for all images of a batch: 32 of 1024 x 1024."""
NOT_OF_THE_FILE = ("character_dict_path", "label_list", "language_model")
"""Keys of `postprocess` that are elsewhere in the metadata, or do not belong to the network."""
RESIZING = (*line_images.RESIZES, RESIZE_FOR_INFERENCE, "Rotate90IfVertical", "DarkOnLight")
INTERPOLATION = "INTER_LINEAR"
"""The interpolation of every transform that resizes: the four nearest pixels, even if an image becomes much smaller."""
BEFORE, AFTER = "before normalising", "after normalising"
RESIZING_PAGES = ("DetResize", "ScalePadImage", "GridResize")
OF_PPOCR = ("rec_pplcnet_v3", "rec_pplcnet_v4", "det_pplcnet_v3", "det_pplcnet_v4")
"""Backbones whose networks are exported in the form of PaddleOCR's files, with free sizes."""
PAGE_OF_PPOCR = (736, 736)
"""The size of the page on which their files are compared with the network, unless another size is given."""


def input_shape(config: Config, given: Sequence[int] | None, batch: int) -> tuple[int, int, int, int]:
    """(batch, 3, height, width) of the images: `given`, or the size that the pipeline of the evaluation makes.

    Raises KitError if that size varies, does not fit the network or takes too much memory.
    """
    is_page = config["model"]["type"] == "det"
    height, width = _page_size(config, given) if is_page else _line_size(config, given)
    if batch < 1 or min(height, width) < 1 or batch * height * width > MAX_PIXELS:
        raise KitError(
            "ocr.export-metadata.images-x",
            "{batch} images of {height} x {width}; accepted: 1 to {max_pixels} pixels in total",
            fix="see --batch and --shape",
            batch=batch,
            height=height,
            width=width,
            max_pixels=MAX_PIXELS,
        )
    return batch, 3, height, width


def _page_size(config: Config, given: Sequence[int] | None) -> Size:
    height, width = given or (PAGE_OF_PPOCR if takes_all_sizes(config) else _fixed_size(config))
    stride = detection.head_of(config).stride
    if height % stride or width % stride:
        near = " ".join(str(max(1, round(side / stride)) * stride) for side in (height, width))
        raise KitError(
            "ocr.export-metadata.images-x-2",
            "images of {height} x {width}: the network takes multiples of {stride}",
            fix="--shape {near}",
            height=height,
            width=width,
            stride=stride,
            near=near,
        )
    return height, width


def _fixed_size(config: Config) -> Size:
    """The size of every page after DetResize or ScalePadImage. Raises KitError if it varies."""
    for name, options in config.transforms("eval"):
        target = options.get("target_size") if name in RESIZING_PAGES else None
        if target and (name == "ScalePadImage" or options.get("padding") or not options.get("keep_ratio", True)):
            return page_transforms.target_of(**options) if name == "DetResize" else (target[0], target[1])
    raise KitError(
        "ocr.export-metadata.evaluation-uses-pages",
        "the evaluation uses pages of different sizes, but an exported network accepts only one size",
        fix="add --shape 736 1280",
    )


def _line_size(config: Config, given: Sequence[int] | None) -> Size:
    height, width = line_images.image_shape(config, "eval")
    if given and given[0] != height:
        raise KitError(
            "ocr.export-metadata.shape-evaluation-resizes",
            "--shape {given} {given_2}: the evaluation resizes lines to height {height}",
            fix="--shape {height} WIDTH",
            given=given[0],
            given_2=given[1],
            height=height,
        )
    return height, given[1] if given else width


def order(config: Config) -> list[int]:
    """For each class of the ONNX file of a recogniser of PP-OCR, its number in the network; [] for all other networks.

    See `paddle_order`, which may raise KitError.
    """
    return paddle_order(_classes(config)) if takes_all_sizes(config) and config["model"]["type"] == "rec" else []


def paddle_order(classes: Sequence[str | None]) -> list[int]:
    """The numbers of `classes` as PaddleOCR has them: first the CTC blank (None), last the space, -1 if there is none.

    Raises KitError if a character ends a line for programs that read the dictionary.
    """
    breaking = [token for token in classes if token is not None and token.splitlines() != [token]]
    if breaking:
        raise KitError(
            "ocr.export-metadata.dictionary-program-reads",
            "the dictionary has {breaking!r}, at which a program that reads the ONNX file would break a line",
            fix="remove it from the dictionary, or use --format mindir",
            breaking=breaking[0],
        )
    numbers = {token: number for number, token in enumerate(classes)}
    inner = [number for token, number in numbers.items() if token not in (None, " ")]
    return [numbers[None], *inner, numbers.get(" ", -1)]


def takes_all_sizes(config: Config) -> bool:
    """Whether one exported file takes images of all sizes."""
    return config["model"]["backbone"]["name"] in OF_PPOCR


def _classes(config: Config) -> list[str | None]:
    """The token of each class of a recogniser."""
    section = config["postprocess"]
    charset = Charset.load(section["character_dict_path"], use_space_char=section["use_space_char"])
    return list(text_heads.of(config).classes(charset))


def facts(config: Config) -> dict[str, str]:
    """The metadata of an exported file, by key; lists and options as JSON.

    `colours`, `mean` and `std`: the order of the channels, and the values for pixels from 0 to 255 in that order.
    `resize`: the transforms that change the size or the grey values of an image, with all options; the input of the
    file decides on the size. `interpolation`: as OpenCV names it. `padding`: null, or the padding of an image that
    keeps its ratio, see `_padding`. `postprocess`: its name defines the outputs. `characters` (recognition): the token
    of each class; null is the CTC blank, "<go>" and "<stop>" are BOS and EOS of an attention head. `character` (PP-OCR,
    recognition): as in PaddleOCR's files, one in each line, without the blank and the space. `classes`
    (classification): their names. `language_model`: that there was one, and that the file lacks it.
    """
    pixels, transforms = pixel_format(config.transforms("eval")), config.transforms("eval")
    post = {key: value for key, value in config["postprocess"].items() if key not in NOT_OF_THE_FILE}
    resizing = RESIZING_PAGES if config["model"]["type"] == "det" else RESIZING
    values: dict[str, Any] = {
        "mean": pixels.mean,
        "std": pixels.std,
        "resize": [{name: _all_options(name, options)} for name, options in transforms if name in resizing],
        "padding": _padding(config),
        "postprocess": post,
    }
    if config["model"]["type"] == "cls":
        values["classes"] = classification.labels_of(config)
    if config["model"]["type"] == "rec":
        values["characters"] = _classes(config)
    names = {"colours": pixels.colours, "interpolation": INTERPOLATION}
    if config["postprocess"].get("language_model"):
        names["language_model"] = "not in this file: it gives what the network reads alone"
    if order_of_file := order(config):
        values["characters"] = [" " if number < 0 else values["characters"][number] for number in order_of_file]
        names["character"] = "\n".join(values["characters"][1:-1])
    return names | {key: json.dumps(value, ensure_ascii=False) for key, value in values.items()}


def _padding(config: Config) -> dict[str, Any] | None:
    """The padding of an image that keeps its ratio: the value, the sides, and whether before normalisation.

    The unpadded width of a line is its source's width times height / source height, rounded up, if there is room.
    """
    for name, given in config.transforms("eval"):
        options = _all_options(name, given)
        if name == "ScalePadImage" or (name == "DetResize" and _fills_page(options)):
            return {"value": 0, "sides": ["below", "right"], "filled": BEFORE}
        if name == RESIZE_FOR_INFERENCE and options["padding"]:
            return {"value": 0, "sides": ["right"], "filled": AFTER if options["norm_before_pad"] else BEFORE}
        if name in line_images.RESIZES and (options["padding"] or _infers_padding(options)):
            return {"value": 0, "sides": ["right"], "filled": BEFORE}
    return None


def _fills_page(options: Mapping[str, Any]) -> bool:
    return bool(options["target_size"] and options["keep_ratio"] and options["padding"])


def _infers_padding(options: Mapping[str, Any]) -> bool:
    return bool(options.get("infer_mode") and options.get("character_dict_path"))


def _all_options(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a transform, defaults included."""
    parameters = signature(TRANSFORMS[name]).parameters.values()
    defaults = {
        parameter.name: parameter.default for parameter in parameters if parameter.default is not parameter.empty
    }
    return {**defaults, **given}
