"""How the gradients of several ranks are summed: the section `parallel`.

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
from mindspore import nn
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.ocr import on_cpu
from hccl_kit.ocr.train.join import DeviceJoin, HostJoin, Join, Total, total_of_vector
from hccl_kit.runtime import mpi
from hccl_kit.runtime.join import World


def join(strategy: str, network: nn.Cell, world: World, say: Callable[[str], None]) -> Join | None:
    """How the ranks sum the gradients of `network`; None for a single rank.

    Every rank must call this; `say` takes a line for the log. Raises KitError if the ranks cannot use `strategy`.
    """
    if world.size == 1:
        return None
    name, total = _chosen(strategy, world)
    say(f"all-reduce of gradients: {name}")
    if total is None:
        return DeviceJoin(network, world.size, world.recorder)
    return HostJoin(network, world.size, total, world.recorder)


def _chosen(strategy: str, world: World) -> tuple[str, Total | None]:
    """The strategy in use and its sum, None for that of the framework.

    `auto` on CPU is mpi under mpirun, else memory if the ranks can share it; everything else is the framework.
    """
    is_cpu = world.device_target == "CPU"
    with_mpi = is_cpu and world.launcher == "mpirun"
    if strategy == "mpi" and not with_mpi:
        raise KitError(
            "ocr.parallel.parallel-strategy-mpi",
            "parallel.strategy is mpi, but these ranks were started by {launcher} on {device_target}",
            fix="start them with mpirun on CPU, or set parallel.strategy: auto",
            launcher=world.launcher,
            device_target=world.device_target,
        )
    if strategy == "mpi" or (strategy == "auto" and with_mpi):
        return "mpi", mpi.sum_over_ranks
    if strategy in ("auto", "memory") and is_cpu and (total := on_cpu.sum_over_ranks_of_host(world)):
        return "memory", total
    if strategy == "memory":
        raise KitError(
            "ocr.parallel.parallel-strategy-memory",
            "parallel.strategy is memory, but these {size} ranks on {device_target} cannot share any",
            fix="it needs ranks of one user on CPU, on one host with Linux; or set parallel.strategy: auto",
            size=world.size,
            device_target=world.device_target,
        )
    return ("framework", None) if strategy in ("auto", "framework") else (strategy, total_of_vector(load(strategy)))


def load(path: str) -> Callable[[NDArray[np.float32]], NDArray[np.float32]]:
    """The function at a dotted path. Raises KitError if there is none."""
    module, _, name = path.rpartition(".")
    try:
        function: Any = getattr(importlib.import_module(module), name) if module else None
    except (ImportError, AttributeError) as error:
        raise KitError(
            "ocr.parallel.parallel-strategy-cannot",
            "parallel.strategy: {path} cannot be loaded: {reason}",
            fix="Python must find its module: add its folder to PYTHONPATH",
            path=path,
            reason=error,
        ) from error
    if not callable(function):
        raise KitError(
            "ocr.parallel.parallel-strategy",
            "parallel.strategy is {path!r}; accepted: auto, framework, memory, mpi, or module.function",
            path=path,
        )
    called: Callable[[NDArray[np.float32]], NDArray[np.float32]] = function
    return called
