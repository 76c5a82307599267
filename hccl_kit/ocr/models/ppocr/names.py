"""The parameters of the networks of PP-OCR in the package `transformers`, by our names.

Its classes are PPOCRV6SmallRec, PPOCRV6TinyRec and PPOCRV5MobileRec ForTextRecognition, and PPOCRV6SmallDet,
PPOCRV6MediumDet and PPOCRV5MobileDet ForObjectDetection (5.8 and later). Their depthwise convolutions of PP-OCRv6 are
folded and most others are not: see `hccl_kit.ocr.models.ppocr.forms`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hccl_kit.ocr.models.ppocr import folding

Arrays = Mapping[str, NDArray[Any]]
MARKS = ("model.backbone.encoder.", "head.", "model.neck.", "model.layer.")
"""Every name of such a file starts with one of them."""
_BACKBONE, _NECK, _PYRAMID = "model.backbone.encoder.", "head.encoder.", r"model\.neck\."
DENSE = "dense"
"""The part of a name for a kernel that is a product, see `_separated`."""
_CELLS: tuple[tuple[str, str], ...] = (
    *(
        (rf"{_BACKBONE}convolution\.{theirs}\.", f"backbone.stem.{ours}.")
        for theirs, ours in (
            ("stem1", "first"),
            ("stem2a", "left"),
            ("stem2b", "right"),
            ("stem3", "join"),
            ("stem4", "last"),
            ("conv1", "0"),
            ("conv2", "2"),
        )
    ),
    (rf"{_BACKBONE}convolution\.", "backbone.stem."),
    *(
        (rf"{_BACKBONE}blocks\.(\d+)\.(?:blocks|layers)\.(\d+)\.{theirs}\.", rf"backbone.stages.\1.\2.{ours}.")
        for theirs, ours in (
            ("token_conv", "depthwise"),
            (r"token_squeeze_excitation\.convolutions\.0", "squeeze.reduce"),
            (r"token_squeeze_excitation\.convolutions\.2", "squeeze.expand"),
            ("channel_conv1", "expand"),
            ("channel_conv2", "project"),
            (r"squeeze_excitation_module\.convolutions\.0", "squeeze.reduce"),
            (r"squeeze_excitation_module\.convolutions\.2", "squeeze.expand"),
        )
    ),
    *(
        (
            rf"{_BACKBONE}blocks\.(\d+)\.layers\.(\d+)\.(depth|point)wise_convolution\.{theirs}\.",
            rf"backbone.stages.\1.\2.\3wise.{ours}.",
        )
        for theirs, ours in (
            (r"conv_symmetric\.(\d+)", r"conv.branches.\4"),
            ("conv_small_symmetric", "conv.point"),
            ("identity", "conv.identity"),
            ("lab", "inner"),
            (r"act\.lab", "outer"),
        )
    ),
    *(
        (rf"{_NECK}svtr_block\.(\d+)\.{theirs}\.", rf"neck.blocks.\1.{ours}.")
        for theirs, ours in (
            ("layer_norm1", "norm1"),
            (r"self_attn\.qkv", "attention.qkv"),
            (r"self_attn\.projection", "attention.project"),
            ("layer_norm2", "norm2"),
            (r"mlp\.fc1", "perceptron.expand"),
            (r"mlp\.fc2", "perceptron.project"),
        )
    ),
    (rf"{_NECK}norm\.", "neck.norm."),
    (r"head\.head\.", "head.dense1."),
    (r"head\.conv1\.", "neck.local.conv."),
    (r"head\.norm1\.", "neck.local.norm."),
    (r"head\.conv2\.", "neck.mix.conv."),
    (r"head\.norm2\.", "neck.mix.norm."),
    (r"head\.fc1\.", "neck.reduce."),
    (r"head\.fc2\.", "head.dense1."),
    *(
        (rf"{_PYRAMID}{theirs}\.", ours)
        for theirs, ours in (
            (r"insert_conv\.(\d)\.in_conv", r"neck.unify.\1.conv."),
            (r"insert_conv\.(\d)\.squeeze_excitation_block\.conv1", r"neck.unify.\1.squeeze.reduce."),
            (r"insert_conv\.(\d)\.squeeze_excitation_block\.conv2", r"neck.unify.\1.squeeze.expand."),
            (r"input_conv\.(\d)\.in_conv", r"neck.smooth.\1.conv."),
            (r"input_conv\.(\d)\.squeeze_excitation_block\.conv1", r"neck.smooth.\1.squeeze.reduce."),
            (r"input_conv\.(\d)\.squeeze_excitation_block\.conv2", r"neck.smooth.\1.squeeze.expand."),
            (r"input_conv\.(\d)\.depthwise_convolution", r"neck.smooth.\1.depthwise."),
            (r"input_conv\.(\d)\.pointwise_convolution", r"neck.smooth.\1.reduce.conv."),
            (r"input_conv\.(\d)\.squeeze_excitation_module\.conv1", r"neck.smooth.\1.reduce.squeeze.reduce."),
            (r"input_conv\.(\d)\.squeeze_excitation_module\.conv2", r"neck.smooth.\1.reduce.squeeze.expand."),
            (r"input_channel_adjustment_convolution\.(\d)", r"neck.unify.\1."),
            (r"input_feature_projection_convolution\.(\d)", rf"neck.project.\1.{DENSE}."),
            (r"path_aggregation_head_convolution\.(\d)", r"neck.halve.\1."),
            (r"path_aggregation_lateral_convolution\.(\d)", rf"neck.lateral.\1.{DENSE}."),
            (r"intraclass_blocks\.(\d)\.conv_reduce_channel", r"neck.relate.\1.reduce."),
            (r"intraclass_blocks\.(\d)\.conv_final", r"neck.relate.\1.expand."),
        )
    ),
    *(
        (rf"{_PYRAMID}intraclass_blocks\.(\d)\.{theirs}_{side}ratio\.", rf"neck.relate.\1.crosses.{number}.{ours}.")
        for number, side in enumerate(("long", "mid", "short"))
        for theirs, ours in (
            ("symmetric_conv_long", "square"),
            ("vertical_long_to_small_conv", "upright"),
            ("horizontal_small_to_long_conv", "flat"),
        )
    ),
    (r"model\.layer\.(\d)\.", r"backbone.reduce.\1."),
    (r"head\.conv_down\.", "head.segm.0."),
    (r"head\.conv_up\.", "head.segm.2."),
    (r"head\.conv_final\.", "head.segm.4."),
)
_COARSE_FIRST = ("neck.unify.", "neck.smooth.", "neck.project.", "neck.relate.")
"""Lists whose first level is the finest there and the coarsest here."""
_CONV_BLOCKS: Mapping[int, tuple[str, ...]] = {
    3: ("skip", "reduce", "local"),
    5: ("local", "reduce", "expand", "join", "last"),
}
"""The convolutions of a neck by their number: LightSVTR has three, SVTREncoder five."""
LEVELS = 4
_STATISTICS = {"running_mean": "moving_mean", "running_var": "moving_variance"}
_NORMS = {**_STATISTICS, "weight": "gamma", "bias": "beta"}


def of_transformers(values: Arrays) -> bool:
    """Whether the values have the names of such a network."""
    return any(name.startswith(_BACKBONE) for name in values) and all(name.startswith(MARKS) for name in values)


def translated(values: Arrays) -> dict[str, NDArray[Any]]:
    """The values of `transformers` by our names and in our shapes, the row of the blank moved to the end.

    Names that belong to no such network, and `num_batches_tracked`, are left out.
    """
    blocks = {match[1] for name in values if (match := re.match(rf"{_NECK}conv_block\.(\d{{1,3}})\.", name))}
    renamed: dict[str, NDArray[Any]] = {}
    for name, array in values.items():
        if name.endswith("num_batches_tracked"):
            continue
        ours = _ours(name, _CONV_BLOCKS.get(len(blocks), ()))
        if ours is not None:
            renamed[ours] = _reshaped(ours, array)
    return _separated(renamed)


def _separated(values: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Replace each dense large kernel by the depthwise and pointwise convolution whose product it is, or drop it."""
    separate: dict[str, NDArray[Any]] = {}
    for name, array in values.items():
        cell, _, key = name.partition(f".{DENSE}.")
        if key == "bias":
            separate[f"{cell}.pointwise.bias"] = array
        parts = folding.separated(array) if key == "weight" else None
        if parts is not None:
            separate |= {f"{cell}.depthwise.weight": parts[0], f"{cell}.pointwise.weight": parts[1]}
            separate[f"{cell}.depthwise.bias"] = np.zeros(len(parts[0]), np.float32)
        if not key:
            separate[name] = array
    return separate


def _ours(name: str, blocks: tuple[str, ...]) -> str | None:
    match = re.fullmatch(rf"{_NECK}conv_block\.(\d{{1,3}})\.(convolution|normalization)\.(\w+)", name)
    if match:
        number = int(match[1])
        return f"neck.{blocks[number]}.{_part(match[2], match[3], norm='norm')}" if number < len(blocks) else None
    for theirs, ours in _CELLS:
        match = re.match(theirs, name)
        if match:
            return _joined(_counted_here(match.expand(ours)), name[match.end() :])
    return None


def _counted_here(cell: str) -> str:
    if not cell.startswith(_COARSE_FIRST):
        return cell
    part, kind, level, rest = cell.split(".", 3)
    return f"{part}.{kind}.{LEVELS - 1 - int(level)}.{rest}" if int(level) < LEVELS else cell


def _joined(cell: str, rest: str) -> str | None:
    kind, _, key = rest.rpartition(".")
    if cell == "head.segm.2." and kind == "convolution":
        return f"{cell}up.{key}"
    if kind in ("convolution", "normalization", "norm"):
        return cell + _part(kind, key, norm="bn")
    normalises = cell.split(".")[-2] in ("norm", "norm1", "norm2", "identity")
    return None if kind else cell + (_NORMS.get(key, key) if normalises else key)


def _part(kind: str, key: str, *, norm: str) -> str:
    return f"conv.{key}" if kind == "convolution" else f"{norm}.{_NORMS.get(key, key)}"


def _reshaped(ours: str, array: NDArray[Any]) -> NDArray[Any]:
    if ours.startswith("head.dense1."):
        return np.roll(array, -1, axis=0) if array.ndim else array
    if ours in ("neck.local.conv.weight", "neck.mix.conv.weight") and array.ndim == 3:
        return array[:, :, None]  # of a convolution in one dimension
    return array
