"""Renames parameters of batch normalisations from `mindspore.mint` and PyTorch to those of `mindspore.nn`.

MindCV's networks use `mindspore.mint` since 0.5; before, they used `mindspore.nn` (gamma, beta, moving_mean,
moving_variance).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[Any]]
MEAN = ".running_mean"
NAMES = {"weight": "gamma", "bias": "beta", "running_mean": "moving_mean", "running_var": "moving_variance"}


def as_here(values: Arrays) -> Arrays:
    """The values with the names of `mindspore.nn`; those that belong to no batch normalisation are unchanged."""
    norms = {name.removesuffix(MEAN) for name in values if name.endswith(MEAN)}
    if not norms:
        return values
    renamed = {}
    for name, array in values.items():
        cell, _, key = name.rpartition(".")
        if cell not in norms:
            renamed[name] = array
        elif key in NAMES:  # drops num_batches_tracked
            renamed[f"{cell}.{NAMES[key]}"] = array
    return renamed
