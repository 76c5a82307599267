"""Which network, loss and decoder belong together. A model family is one module and one row here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from mindspore import nn
from numpy.typing import NDArray

from hccl_kit.errors import KitError
from hccl_kit.ocr.charset import Charset
from hccl_kit.ocr.config import Config
from hccl_kit.ocr.decode import ctc
from hccl_kit.ocr.losses.ctc import CTCLoss
from hccl_kit.ocr.models import crnn_small


@dataclass(frozen=True, slots=True)
class Recipe:
    """The parts of one family, found by the names in the section `model`.

    The network takes images of `height` rows and gives one step of its sequence for every `stride` columns.
    """

    backbone: str
    neck: str
    head: str
    network: Callable[[dict[str, Any]], nn.Cell]
    loss: Callable[[Charset], nn.Cell]
    decode: Callable[[NDArray[np.float32], Charset], list[ctc.Reading]]
    height: int
    stride: int


RECIPES: tuple[Recipe, ...] = (
    Recipe(
        backbone="rec_conv_small",
        neck="RNNEncoder",
        head="CTCHead",
        network=crnn_small.build,
        loss=lambda charset: CTCLoss(charset.blank),
        decode=ctc.decode,
        height=crnn_small.HEIGHT,
        stride=crnn_small.STRIDE,
    ),
)


def find(config: Config) -> Recipe:
    """The row of this configuration; KitError where its parts do not go together."""
    names = tuple(config["model"][part]["name"] for part in ("backbone", "neck", "head"))
    for recipe in RECIPES:
        if (recipe.backbone, recipe.neck, recipe.head) == names:
            return recipe
    known = "; ".join(f"{r.backbone} + {r.neck} + {r.head}" for r in RECIPES)
    raise KitError(f"no recipe joins {' + '.join(names)}; known: {known}")


def sequence_length(config: Config) -> int:
    """The steps of the network's output; KitError where the two pipelines do not make the images it takes."""
    recipe = find(config)
    shapes = [_image_shape(config[section]["dataset"], section) for section in ("train", "eval")]
    if shapes[0] != shapes[1]:
        raise KitError(f"RecResizeImg.image_shape is {shapes[0]} in train and {shapes[1]} in eval")
    height, width = shapes[0]
    if height != recipe.height:
        raise KitError(f"RecResizeImg.image_shape is {shapes[0]}; {recipe.backbone} takes images {recipe.height} high")
    return width // recipe.stride


def _image_shape(dataset: dict[str, Any], section: str) -> list[int]:
    for step in dataset["transform_pipeline"]:
        if "RecResizeImg" in step:
            shape: list[int] = step["RecResizeImg"]["image_shape"]
            return shape
    raise KitError(f"{section}.dataset.transform_pipeline lacks RecResizeImg")


def charset_of(config: Config) -> Charset:
    """The dictionary of this configuration, checked against the network's classes and the labels' dictionary."""
    post = config["postprocess"]
    charset = Charset.load(post["character_dict_path"], use_space_char=post["use_space_char"])
    classes = config["model"]["head"]["out_channels"]
    if classes != charset.classes:
        raise KitError(
            f"model.head.out_channels is {classes}, but the dictionary makes {charset.classes} with the blank",
            hint=f"set out_channels to {charset.classes}, or postprocess.character_dict_path to the right file",
        )
    options = label_options(config)
    labels = Charset.load(options.get("character_dict_path"), use_space_char=options.get("use_space_char", False))
    if labels != charset:
        raise KitError("RecCTCLabelEncode and postprocess use different dictionaries")
    return charset


def label_options(config: Config) -> dict[str, Any]:
    """The options of RecCTCLabelEncode in the training pipeline."""
    for step in config["train"]["dataset"]["transform_pipeline"]:
        if "RecCTCLabelEncode" in step:
            return step["RecCTCLabelEncode"] or {}
    raise KitError("train.dataset.transform_pipeline lacks RecCTCLabelEncode")
