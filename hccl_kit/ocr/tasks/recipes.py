"""Which network and which task belong together. A model family is one module and one row here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from mindspore import nn

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.config import Config
from hccl_kit.ocr.models import (
    cls_mobilenet_v3,
    crnn,
    crnn_small,
    db,
    detector,
    east,
    pse,
    rare,
    rec_resnet34,
    svtr,
    vgg7,
)
from hccl_kit.ocr.tasks.classification import Classification
from hccl_kit.ocr.tasks.detection import Detection
from hccl_kit.ocr.tasks.recognition import Recognition
from hccl_kit.ocr.tasks.task import Task


@dataclass(frozen=True, slots=True)
class Recipe:
    """A family, found by the names of its parts in the section `model`."""

    parts: tuple[str, ...]
    """The names of backbone, neck and head; a classifier has no neck."""
    network: Callable[[Mapping[str, Any]], nn.Cell]
    task: Callable[[Config], Task]


def _of_svtr(config: Config) -> Recognition:
    """The rectifier takes images of any size; without one they must be as large as the backbone says."""
    height, width = config["model"]["backbone"]["img_size"]

    def steps(given: int) -> int:
        if given != width and not rectified:
            raise KitError(f"images are {given} wide; model.backbone.img_size says {width}")
        return svtr.steps(width)

    rectified = config["model"]["transform"] is not None
    return Recognition(config, height=None if rectified else height, steps=steps)


RECIPES: tuple[Recipe, ...] = (
    *(
        Recipe((backbone, f"{family}FPN", f"{family}Head"), module.build, Detection)
        for family, module in (("DB", db), ("PSE", pse), ("EAST", east))
        for backbone in detector.BACKBONES
    ),
    Recipe(
        ("rec_vgg7", "RNNEncoder", "CTCHead"),
        crnn.build,
        partial(Recognition, height=vgg7.HEIGHT, steps=vgg7.steps),
    ),
    Recipe(
        ("rec_resnet34", "RNNEncoder", "CTCHead"),
        crnn.build,
        partial(Recognition, height=rec_resnet34.HEIGHT, steps=rec_resnet34.steps),
    ),
    Recipe(
        ("rec_resnet34", "RNNEncoder", "AttentionHead"),
        rare.build,
        partial(Recognition, height=rec_resnet34.HEIGHT, steps=rec_resnet34.steps),
    ),
    Recipe(("SVTRNet", "Img2Seq", "CTCHead"), svtr.build, _of_svtr),
    *(
        Recipe(
            (backbone, "RNNEncoder", head),
            build,
            partial(Recognition, height=crnn_small.HEIGHT, steps=crnn_small.steps),
        )
        for backbone in crnn_small.BACKBONES
        for head, build in (("CTCHead", crnn_small.build), ("AttentionHead", rare.build))
    ),
    Recipe(("cls_mobilenet_v3_small_100", "MobileNetV3Head"), cls_mobilenet_v3.build, Classification),
)


def find(config: Config) -> Recipe:
    """The row of this configuration; KitError where its parts do not go together."""
    model = config["model"]
    names = tuple(model[part]["name"] for part in ("backbone", "neck", "head") if part in model)
    for recipe in RECIPES:
        if recipe.parts == names:
            return recipe
    known = "; ".join(" + ".join(recipe.parts) for recipe in RECIPES)
    raise KitError(f"no recipe joins {' + '.join(names)}; known: {known}")


def network(config: Config) -> nn.Cell:
    """The network of a configuration, with fresh weights."""
    return find(config).network(config["model"])


def task(config: Config) -> Task:
    """The task of a configuration."""
    return find(config).task(config)
