"""All parameters of a network at once: as one vector, as one digest, equal on every rank."""

from __future__ import annotations

import hashlib

import numpy as np
from mindspore import Parameter, Tensor, nn
from numpy.typing import NDArray

from hccl_kit.ocr.step import TrainStep
from hccl_kit.world import World


def broadcast(network: nn.Cell, world: World) -> None:
    """Give every rank the parameters of rank 0: equal starts must not rest on equal seeds."""
    if world.size > 1:
        for parameter in network.get_parameters():
            parameter.set_data(Tensor(world.broadcast(parameter.asnumpy())))


def flatten(network: nn.Cell) -> NDArray[np.float32]:
    """The trainable parameters as one vector."""
    return np.concatenate([parameter.asnumpy().ravel() for parameter in network.trainable_params()])


def digest(network: nn.Cell) -> bytes:
    """SHA-256 over all parameters, statistics of batch normalisation included, in the order of the network."""
    sha = hashlib.sha256()
    for parameter in network.get_parameters():
        sha.update(np.ascontiguousarray(parameter.asnumpy()).tobytes())
    return sha.digest()


def gather_digests(network: nn.Cell, world: World) -> list[str]:
    """The digest of every rank, in hexadecimal; equal digests are equal parameters, element by element."""
    rows = world.gather(np.frombuffer(digest(network), np.uint8).astype(np.float32))
    return [row.astype(np.uint8).tobytes().hex() for row in rows]


def state(network: nn.Cell, step: TrainStep) -> list[Parameter]:
    """Everything a resumed run needs besides its position: weights, statistics, optimizer."""
    return list({p.name: p for cell in (network, step.update) for p in cell.get_parameters()}.values())
