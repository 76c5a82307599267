"""Batch normalisation with frozen statistics, or with those of all ranks."""

from __future__ import annotations

from collections.abc import Iterator

from mindspore import nn

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
