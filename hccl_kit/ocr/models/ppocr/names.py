"""The parameters of the recognisers of PP-OCR in the package `transformers`, by our names.

Its classes are PPOCRV6SmallRec, PPOCRV6TinyRec and PPOCRV5MobileRec ForTextRecognition (5.8 and later). Their depthwise
convolutions of PP-OCRv6 are folded and all others are not: see `hccl_kit.ocr.models.ppocr.forms`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[Any]]
MARKS = ("model.backbone.encoder.", "head.")
"""Every name of such a file starts with one of them."""
_BACKBONE, _NECK = "model.backbone.encoder.", "head.encoder."
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
)
_CONV_BLOCKS: Mapping[int, tuple[str, ...]] = {
    3: ("skip", "reduce", "local"),
    5: ("local", "reduce", "expand", "join", "last"),
}
"""The convolutions of a neck by their number: LightSVTR has three, SVTREncoder five."""
_STATISTICS = {"running_mean": "moving_mean", "running_var": "moving_variance"}
_NORMS = {**_STATISTICS, "weight": "gamma", "bias": "beta"}


def of_transformers(values: Arrays) -> bool:
    """Whether the values have the names of such a recogniser."""
    return any(name.startswith(_BACKBONE) for name in values) and all(name.startswith(MARKS) for name in values)


def translated(values: Arrays) -> dict[str, NDArray[Any]]:
    """The values of `transformers` by our names and in our shapes, the row of the blank moved to the end.

    Names that belong to no recogniser, and `num_batches_tracked`, are left out.
    """
    blocks = {match[1] for name in values if (match := re.match(rf"{_NECK}conv_block\.(\d{{1,3}})\.", name))}
    found: dict[str, NDArray[Any]] = {}
    for name, array in values.items():
        if name.endswith("num_batches_tracked"):
            continue
        ours = _ours(name, _CONV_BLOCKS.get(len(blocks), ()))
        if ours is not None:
            found[ours] = _reshaped(ours, array)
    return found


def _ours(name: str, blocks: tuple[str, ...]) -> str | None:
    found = re.fullmatch(rf"{_NECK}conv_block\.(\d{{1,3}})\.(convolution|normalization)\.(\w+)", name)
    if found:
        number = int(found[1])
        return f"neck.{blocks[number]}.{_part(found[2], found[3], norm='norm')}" if number < len(blocks) else None
    for theirs, ours in _CELLS:
        found = re.match(theirs, name)
        if found:
            return _joined(found.expand(ours), name[found.end() :])
    return None


def _joined(cell: str, rest: str) -> str | None:
    kind, _, key = rest.rpartition(".")
    if kind in ("convolution", "normalization"):
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
