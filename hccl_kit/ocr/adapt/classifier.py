"""A classifier that was trained for one dictionary, converted to another: each character keeps its weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hccl_kit.base.errors import KitError
from hccl_kit.base.wording import listed
from hccl_kit.ocr.adapt.onnx_weights import DENSE, Layer

SHOWN = 10
"""New characters that a note names."""


def converted(layer: Layer, given: Sequence[str | None], wanted: Sequence[str | None]) -> tuple[Layer, str | None]:
    """The dense layer of classes `given` as one of classes `wanted`, and a note on what is new; None is the CTC blank.

    A character that the layer lacks starts with the mean of all characters: no image prefers it, and none excludes it.
    Raises KitError if the layer has another number of classes than `given`, or lacks a character in common.
    """
    if layer.kind != DENSE or len(layer.arrays["weight"]) != len(given):
        raise KitError(f"the last layer is a {layer}; its dictionary makes {len(given)} classes")
    places = {token: number for number, token in enumerate(given)}
    new = [token for token in wanted if token not in places]
    if len(new) >= len(wanted) - 1:
        raise KitError("the dictionary of the file has no character of that of the configuration")
    own = np.array([number for token, number in places.items() if token is not None])
    rows = np.array([places.get(token, -1) for token in wanted])
    arrays = {}
    for name, array in layer.arrays.items():
        taken = array[rows]
        taken[rows < 0] = array[own].mean(axis=0)
        arrays[name] = taken
    dropped = len(places) - (len(wanted) - len(new))
    parts = [
        f"{len(new)} characters are new: {listed([repr(token) for token in new], SHOWN)}" if new else None,
        f"{dropped} of {len(given)} classes are left out" if dropped else None,
    ]
    return Layer(layer.kind, arrays), "; ".join(part for part in parts if part) or None
