"""Detection heads: the targets, loss and post-processing that belong to each head."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
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
from hccl_kit.ocr.losses.pages import AuxDBLoss, DBLoss, EASTLoss, PSEDiceLoss

Shown = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
"""Kernels and borders (H, W) of the texts of an image, from 0 to 1, and the mask (H, W), 0 for pixels that the loss
ignores.
"""


@dataclass(frozen=True, slots=True)
class DetectionHead:
    """What belongs to one kind of head; `criterion` and `postprocess` are its names in a configuration."""

    criterion: str
    postprocess: str
    targets: tuple[str, ...]
    """The transforms that draw the targets of the loss, in its order."""
    stride: int
    """Heights and widths of images are multiples of it."""
    loss: Callable[..., nn.Cell]
    decoder: Callable[..., Decode]
    shown: Callable[[Targets, int], Shown]
    """The targets of one image of a batch, for a picture."""


def _shown_of_db(targets: Targets, number: int) -> Shown:
    kernels, masks, thresholds, near = targets
    return kernels[number, 0], thresholds[number] * near[number], masks[number]


def _shown_of_pse(targets: Targets, number: int) -> Shown:
    texts, kernels, masks = targets
    return kernels[number, -1], texts[number] * masks[number], masks[number]


def _shown_of_east(targets: Targets, number: int) -> Shown:
    scores, _, ignored = (np.kron(maps[number, 0], np.ones((4, 4), np.float32)) for maps in targets)
    return scores, np.zeros_like(scores), 1 - ignored


DB = DetectionHead(
    criterion="DBLoss",
    postprocess="DBPostprocess",
    targets=("ShrinkBinaryMap", "BorderMap"),
    stride=32,
    loss=DBLoss,
    decoder=db_postprocess,
    shown=_shown_of_db,
)
PSE = DetectionHead(
    criterion="PSEDiceLoss",
    postprocess="PSEPostprocess",
    targets=("PSEGtDecode",),
    stride=4,
    loss=PSEDiceLoss,
    decoder=pse_postprocess,
    shown=_shown_of_pse,
)
EAST = DetectionHead(
    criterion="EASTLoss",
    postprocess="EASTPostprocess",
    targets=("EASTProcessTrain",),
    stride=4,
    loss=EASTLoss,
    decoder=east_postprocess,
    shown=_shown_of_east,
)
AUX_DB = replace(DB, criterion="AuxDBLoss", loss=AuxDBLoss)
HEADS: Mapping[str, DetectionHead] = {"DBHead": DB, "AuxDBHead": AUX_DB, "PSEHead": PSE, "EASTHead": EAST}
"""By the name of the head in a configuration."""


def of(config: Config) -> DetectionHead:
    """The head of a configuration."""
    return HEADS[config["model"]["head"]["name"]]
