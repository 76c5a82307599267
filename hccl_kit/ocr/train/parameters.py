"""All parameters of a network at once: broadcast, compared and digested."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

import numpy as np
from mindspore import Parameter, Tensor, nn
from numpy.typing import NDArray

from hccl_kit.runtime.join import World


def broadcast(parameters: Iterable[Parameter], world: World) -> None:
    """Set the parameters on every rank to those of rank 0, bit by bit: equal seeds or files do not guarantee it."""
    for parameter in parameters if world.size > 1 else ():
        value = parameter.asnumpy()
        flat = value.reshape(-1)
        if flat.dtype == np.float32:
            shared = world.broadcast(flat)
        else:  # a counter of the optimizer: byte by byte
            shared = world.broadcast(flat.view(np.uint8).astype(np.float32)).astype(np.uint8).view(flat.dtype)
        parameter.set_data(Tensor(shared.reshape(value.shape)))


def copy(network: nn.Cell) -> dict[str, NDArray[np.float32]]:
    """A copy of the trainable parameters by name."""
    return {parameter.name: parameter.asnumpy().copy() for parameter in network.trainable_params()}


def still(before: Mapping[str, NDArray[np.float32]], network: nn.Cell) -> list[str]:
    """The weights that have not changed since `before`; biases and norms are left out, because they always move."""
    return [
        parameter.name
        for parameter in network.trainable_params()
        if parameter.ndim > 1 and np.allclose(parameter.asnumpy(), before[parameter.name], rtol=1e-7, atol=1e-12)
    ]


def digest(network: nn.Cell) -> str:
    """SHA-256 over all parameters, statistics of batch normalisation included, in the order of the network.

    Equal digests mean bit-identical parameters.
    """
    sha = hashlib.sha256()
    for parameter in network.get_parameters():
        sha.update(np.ascontiguousarray(parameter.asnumpy()).tobytes())
    return sha.hexdigest()
