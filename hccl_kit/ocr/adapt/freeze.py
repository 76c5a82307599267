"""Frozen parts of a network (`model.freeze`), and batch normalisation with frozen statistics or those of all ranks."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from mindspore import nn

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message

KINDS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)


def batch_norms(network: nn.Cell) -> Iterator[nn.Cell]:
    """Every batch normalisation of the network."""
    for _, cell in network.cells_and_names():
        if isinstance(cell, KINDS):
            yield cell


def freeze_batch_norm(network: nn.Cell) -> None:
    """Let every batch normalisation use its moving statistics and not update them, in training too."""
    for norm in batch_norms(network):
        norm.use_batch_statistics = False


def synchronise(network: nn.Cell, target: str, size: int) -> str | None:
    """Let every batch normalisation use the statistics of the joint batch of all ranks (`system.sync_bn`).

    Only the operator is replaced, so all parameters keep their names. Call it after the process group is initialised.
    Returns a note if the device does not support it.
    """
    if size == 1:
        return None
    if target != "Ascend":
        return (
            f"system.sync_bn: {target} has no SyncBatchNorm, so each rank normalises with its own batch; "
            "the moving statistics are averaged over the ranks in any case"
        )
    for norm in batch_norms(network):
        joint = nn.SyncBatchNorm(norm.num_features, eps=norm.eps, momentum=1 - norm.momentum)
        norm.bn_train = joint.bn_train
    return None


def freeze(network: nn.Cell, prefixes: Sequence[str]) -> int:
    """Freeze every parameter whose name begins with one of `prefixes`; returns the number of frozen parameters.

    A prefix matches whole parts of a name: "backbone.conv1" does not match "backbone.conv10". A batch normalisation
    whose gamma is frozen uses its moving statistics and does not update them. Raises KitError if a prefix matches no
    parameter, or if nothing is left to train.
    """
    parameters = list(network.get_parameters())
    for prefix in prefixes:
        if not any(begins(parameter.name, prefix) for parameter in parameters):
            raise unknown_prefix("model.freeze", prefix, [parameter.name for parameter in parameters])
    frozen_names = {p.name for p in parameters if any(begins(p.name, prefix) for prefix in prefixes)}
    frozen = [parameter for parameter in network.trainable_params() if parameter.name in frozen_names]
    if len(frozen) == len(network.trainable_params()):
        raise KitError(
            "ocr.freeze.model-freeze-leave",
            "model.freeze: {prefixes} leave nothing to train",
            prefixes=", ".join(prefixes),
        )
    for parameter in frozen:
        parameter.requires_grad = False
    for norm in batch_norms(network):
        if norm.gamma.name in frozen_names:
            norm.use_batch_statistics = False
    return len(frozen)


def begins(name: str, prefix: str) -> bool:
    """Whether `prefix` is `name` or its first dot-separated parts."""
    return name == prefix or name.startswith(prefix.rstrip(".") + ".")


def unknown_prefix(key: str, prefix: str, names: Sequence[str]) -> KitError:
    """The error for a prefix that `key` gives and no parameter has."""
    parts = {".".join(name.split(".")[:end]) for name in names for end in range(1, name.count(".") + 2)}
    near = difflib.get_close_matches(prefix, sorted(parts), n=1)
    return KitError(
        "ocr.freeze.no-parameter-named",
        "{key}: no parameter is named {prefix}{near}",
        fix="the parts of this network are {fromkeys}",
        key=key,
        prefix=prefix,
        near=Message("ocr.freeze.near", "; did you mean {name}?", name=near[0]) if near else "",
        fromkeys=", ".join(dict.fromkeys(name.split(".")[0] for name in names)),
    )
