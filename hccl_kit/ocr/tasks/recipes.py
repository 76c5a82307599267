"""Model families: which network and which task belong together.

To add a family, write one module and one row:

1. `models/<name>.py` with the network, and `build(model)`, which makes it from the section `model` of a configuration.
   A backbone for lines of text needs less: a cell from images (N, 3, H, W) to features (N, C, 1, T) with an attribute
   `out_channels` (C), the constant `HEIGHT` (H) and `sequence_length(width)` (T); `crnn.build` does the rest.
2. A row in RECIPES: the names of the parts in a configuration, `build`, and the task.

The names and options of the parts are also in schemas/train_config.schema.json, which rejects all others before
MindSpore is loaded; a test compares them with RECIPES. A head with a loss or a decoding of its own has a row in
`text_heads.HEADS` or `detection_heads.HEADS` too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

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
    fpn,
    pse,
    rec_resnet34,
    svtr,
    vgg7,
)
from hccl_kit.ocr.models.ppocr import lcnet_v3, lcnet_v4, lines, pages
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


class LineBackbone(Protocol):
    """The module of a backbone for lines of text."""

    HEIGHT: int
    """The height of the images that it takes."""

    def sequence_length(self, width: int) -> int:
        """The number of time steps for images of that width."""


def reads_lines(backbone: LineBackbone) -> Callable[[Config], Recognition]:
    """The recognition task of a network with this backbone."""
    return partial(Recognition, height=backbone.HEIGHT, sequence_length=backbone.sequence_length)


def _svtr_task(config: Config) -> Recognition:
    """The rectifier takes images of any size; without one they must have the backbone's `img_size`."""
    height, width = config["model"]["backbone"]["img_size"]
    rectifies = config["model"]["transform"] is not None

    def sequence_length(given: int) -> int:
        if given != width and not rectifies:
            raise KitError(
                "ocr.recipes.images-wide",
                "images are {given} wide; model.backbone.img_size is {width} wide",
                given=given,
                width=width,
            )
        return svtr.sequence_length(width)

    return Recognition(config, height=None if rectifies else height, sequence_length=sequence_length)


RECIPES: tuple[Recipe, ...] = (
    *(
        Recipe((backbone, f"{family}FPN", f"{family}Head"), partial(detector.build, neck=neck, head=head), Detection)
        for family, neck, head in (
            ("DB", fpn.FeaturePyramid, db.DBHead),
            ("PSE", pse.PSEFPN, pse.PSEHead),
            ("EAST", east.EASTFPN, east.EASTHead),
        )
        for backbone in detector.BACKBONES
    ),
    *(
        Recipe((backbone, neck, head), pages.build, Detection)
        for backbone, neck, heads in (
            ("det_pplcnet_v4", "RepLKFPN", pages.HEADS),
            ("det_pplcnet_v4", "RepLKPAN", pages.HEADS),
            ("det_pplcnet_v3", "RSEFPN", ("DBHead",)),
        )
        for head in heads
    ),
    Recipe(("rec_vgg7", "RNNEncoder", "CTCHead"), partial(crnn.build, backbone=vgg7.Vgg7), reads_lines(vgg7)),
    *(
        Recipe(
            ("rec_resnet34", "RNNEncoder", head),
            partial(crnn.build, backbone=rec_resnet34.RecResNet34),
            reads_lines(rec_resnet34),
        )
        for head in crnn.HEADS
    ),
    *(
        Recipe((backbone, neck, head), lines.build, reads_lines(module))
        for backbone, neck, module in (
            ("rec_pplcnet_v4", "LightSVTR", lcnet_v4),
            ("rec_pplcnet_v4", "CTCGuide", lcnet_v4),
            ("rec_pplcnet_v3", "SVTREncoder", lcnet_v3),
        )
        for head in ("CTCHead", "MultiHead")
    ),
    Recipe(("SVTRNet", "Img2Seq", "CTCHead"), svtr.build, _svtr_task),
    *(
        Recipe((name, "RNNEncoder", head), build, reads_lines(crnn_small))
        for name in crnn_small.BACKBONES
        for head, build in (
            ("CTCHead", crnn_small.build),
            ("AttentionHead", partial(crnn.build, backbone=partial(crnn_small.Features, name))),
        )
    ),
    Recipe(("cls_mobilenet_v3_small_100", "MobileNetV3Head"), cls_mobilenet_v3.build, Classification),
)


def find(config: Config) -> Recipe:
    """The row of a configuration. Raises KitError if no row has its parts, or its network lacks what is configured."""
    model = config["model"]
    _assert_used(model)
    names = tuple(model[part]["name"] for part in ("backbone", "neck", "head") if part in model)
    for recipe in RECIPES:
        if recipe.parts == names:
            return recipe
    known = "; ".join(" + ".join(recipe.parts) for recipe in RECIPES)
    raise KitError(
        "ocr.recipes.unsupported-combination",
        "unsupported combination {names}; supported: {known}",
        names=" + ".join(names),
        known=known,
    )


def _assert_used(model: Mapping[str, Any]) -> None:
    """Raises KitError for a key of MindOCR that other networks have, and this one would ignore."""
    name, head = model["backbone"]["name"], model["head"]
    if model.get("transform") and name != "SVTRNet":
        raise KitError(
            "ocr.recipes.model-transform-no",
            "model.transform is {name}, but {name_2} has no rectifier in this release",
            fix="set model.transform: null; the backbone SVTRNet has one",
            name=model["transform"]["name"],
            name_2=name,
        )
    for key, start in (("weight_init", "normal"), ("bias_init", "zeros")):
        if name in crnn_small.BACKBONES and head.get(key, start) != start:
            raise KitError(
                "ocr.recipes.model-head-head",
                "model.head.{key} is {head}, but the head of {name} is initialised as MindSpore's Dense",
                fix="leave model.head.{key} out",
                key=key,
                head=head[key],
                name=name,
            )


def network(config: Config) -> nn.Cell:
    """The network of a configuration, with fresh weights."""
    return find(config).network(config["model"])


def network_in_use(config: Config) -> nn.Cell:
    """The network without the branches that only training needs: published weights lack them."""
    model = config["model"]
    head = {**model["head"], **({"adaptive": False} if "adaptive" in model["head"] else {})}
    return find(config).network({**model, "head": head})


def task(config: Config) -> Task:
    """The task of a configuration."""
    return find(config).task(config)
