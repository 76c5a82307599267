"""The all-reduce of the gradients: the section `parallel`.

framework   MindSpore's AllReduce: HCCL on Ascend, its own implementation on CPU
mpi         MPI, for ranks on CPU that mpirun has started: much higher bandwidth than MindSpore's own there
a.b.name    a Python function from a float32 numpy vector to its sum over all ranks
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
from mindspore import Tensor
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.train.gradients import AllReduce
from hccl_kit.runtime import World, mpi

Sum = Callable[[NDArray[np.float32]], NDArray[np.float32]]


def choose(strategy: str, world: World) -> str:
    """The strategy for `auto`: MPI under mpirun on CPU, else the framework; other strategies are returned unchanged.

    Raises KitError for mpi if mpirun has not started the ranks.
    """
    is_mpi = world.launcher == "mpirun" and world.device_target == "CPU"
    if strategy == "auto":
        return "mpi" if is_mpi else "framework"
    if strategy == "mpi" and world.size > 1 and not is_mpi:
        raise KitError(
            f"parallel.strategy is mpi, but these ranks were started by {world.launcher} on {world.device_target}",
            hint="start them with mpirun on CPU, or set parallel.strategy: auto",
        )
    return strategy


def all_reduce(strategy: str) -> Callable[[Tensor], Tensor]:
    """The all-reduce of a strategy of `choose`: sums a vector on the device over the ranks, and may overwrite it."""
    if strategy == "framework":
        return AllReduce()
    return _through_memory(mpi.sum_over_ranks if strategy == "mpi" else load(strategy))


def load(path: str) -> Sum:
    """The function at a dotted path. Raises KitError if there is none."""
    module, _, name = path.rpartition(".")
    try:
        found: Any = getattr(importlib.import_module(module), name) if module else None
    except (ImportError, AttributeError) as error:
        raise KitError(
            f"parallel.strategy: {path} cannot be loaded: {error}",
            hint="Python must find its module: add its folder to PYTHONPATH",
        ) from error
    if not callable(found):
        raise KitError(f"parallel.strategy is {path!r}; accepted: auto, framework, mpi, or module.function")
    called: Sum = found
    return called


def _through_memory(total: Sum) -> Callable[[Tensor], Tensor]:
    def reduce(vector: Tensor) -> Tensor:
        values = np.ascontiguousarray(vector.asnumpy())
        summed = total(values if values.flags.writeable else values.copy())
        if summed.shape != vector.shape or summed.dtype != np.float32:
            raise KitError(
                f"parallel.strategy returned {summed.dtype} {summed.shape} for a float32 vector {tuple(vector.shape)}"
            )
        return Tensor.from_numpy(summed)

    return reduce
