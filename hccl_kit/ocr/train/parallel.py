"""The all-reduce of the gradients: the section `parallel`.

framework   MindSpore's AllReduce: HCCL on Ascend, its own implementation on CPU
memory      memory that the ranks of one host share, on CPU: a tenth of the time of MindSpore's own there
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
from hccl_kit.runtime import World, host_memory, mpi

Sum = Callable[[NDArray[np.float32]], NDArray[np.float32]]


def all_reduce(strategy: str, world: World, say: Callable[[str], None]) -> Callable[[Tensor], Tensor]:
    """The all-reduce of `strategy`: sums a vector on the device over the ranks, and may overwrite it.

    Every rank must call this; `say` takes a line for the log. Raises KitError if the ranks cannot use `strategy`.
    """
    name, total = _chosen(strategy, world)
    say(f"all-reduce of gradients: {name}")
    return AllReduce() if total is None else _through_memory(total)


def _chosen(strategy: str, world: World) -> tuple[str, Sum | None]:
    """The strategy in use and its sum, None for that of the framework.

    `auto` on CPU is mpi under mpirun, else memory if the ranks can share it; everything else is the framework.
    """
    on_cpu = world.device_target == "CPU"
    with_mpi = on_cpu and world.launcher == "mpirun"
    if strategy == "mpi" and not with_mpi:
        raise KitError(
            f"parallel.strategy is mpi, but these ranks were started by {world.launcher} on {world.device_target}",
            hint="start them with mpirun on CPU, or set parallel.strategy: auto",
        )
    if strategy == "mpi" or (strategy == "auto" and with_mpi):
        return "mpi", mpi.sum_over_ranks
    if strategy in ("auto", "memory") and on_cpu and (shared := host_memory.connect(world)):
        return "memory", shared.sum_over_ranks
    if strategy == "memory":
        raise KitError(
            f"parallel.strategy is memory, but these {world.size} ranks on {world.device_target} cannot share any",
            hint="it needs ranks of one user on CPU, on one host with Linux; or set parallel.strategy: auto",
        )
    return ("framework", None) if strategy in ("auto", "framework") else (strategy, load(strategy))


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
        raise KitError(f"parallel.strategy is {path!r}; accepted: auto, framework, memory, mpi, or module.function")
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
