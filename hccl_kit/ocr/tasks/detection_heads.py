"""How a detector outlines texts: what its maps learn from, and how they are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from mindspore import nn
from numpy.typing import NDArray

from hccl_kit.ocr.config import Config
from hccl_kit.ocr.data.loader import Targets
from hccl_kit.ocr.decode.boxes import Decode
from hccl_kit.ocr.decode.db import db_postprocess
from hccl_kit.ocr.decode.east import east_postprocess
from hccl_kit.ocr.decode.pse import pse_postprocess
from hccl_kit.ocr.losses.db import DBLoss
from hccl_kit.ocr.losses.east import EASTLoss
from hccl_kit.ocr.losses.pse import PSEDiceLoss

Shown = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
"""Of an image (H, W): the inner part of its texts and what is around, from 0 to 1, and 0 where nothing is learnt."""


@dataclass(frozen=True, slots=True)
class Outlining:
    """One way to outline; `criterion` and `postprocess` are its names in a configuration."""

    criterion: str
    postprocess: str
    targets: tuple[str, ...]
    """The steps that draw what the loss takes, in its order."""
    stride: int
    """Heights and widths of images are multiples of it."""
    loss: Callable[..., nn.Cell]
    decoder: Callable[..., Decode]
    shown: Callable[[Targets, int], Shown]
    """What a picture shows of the targets of the image with a number."""


def _shown_of_db(targets: Targets, number: int) -> Shown:
    kernels, masks, thresholds, near = targets
    return kernels[number, 0], thresholds[number] * near[number], masks[number]


def _shown_of_pse(targets: Targets, number: int) -> Shown:
    texts, kernels, masks = targets
    return kernels[number, -1], texts[number] * masks[number], masks[number]


def _shown_of_east(targets: Targets, number: int) -> Shown:
    scores, _, ignored = (np.kron(maps[number, 0], np.ones((4, 4), np.float32)) for maps in targets)
    return scores, np.zeros_like(scores), 1 - ignored


DB = Outlining(
    criterion="DBLoss",
    postprocess="DBPostprocess",
    targets=("ShrinkBinaryMap", "BorderMap"),
    stride=32,
    loss=DBLoss,
    decoder=db_postprocess,
    shown=_shown_of_db,
)
PSE = Outlining(
    criterion="PSEDiceLoss",
    postprocess="PSEPostprocess",
    targets=("PSEGtDecode",),
    stride=4,
    loss=PSEDiceLoss,
    decoder=pse_postprocess,
    shown=_shown_of_pse,
)
EAST = Outlining(
    criterion="EASTLoss",
    postprocess="EASTPostprocess",
    targets=("EASTProcessTrain",),
    stride=4,
    loss=EASTLoss,
    decoder=east_postprocess,
    shown=_shown_of_east,
)
OUTLININGS: Mapping[str, Outlining] = {"DBHead": DB, "PSEHead": PSE, "EASTHead": EAST}
"""By the name of the head."""


def of(config: Config) -> Outlining:
    """The outlining of the head of a configuration."""
    return OUTLININGS[config["model"]["head"]["name"]]
