"""What tells CPUs, GPUs and NPUs apart in torch: names, process groups, and how one waits for what was started.

A group takes a store, the place of the rank, the number of ranks and a timeout, and is not registered with torch.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from importlib import import_module
from typing import Any, NamedTuple

import torch
import torch.distributed as dist

from hccl_kit.selftest.ranks.work import COPY_OF_CARD, COPY_OF_CORE, SIDE_OF_CARD, SIDE_OF_CORE


class Device(NamedTuple):
    """A device by its name in torch. `synchronize` waits for all that it was given; `side`, `copy`: see `work`."""

    name: str
    group: Callable[[dist.Store, int, int, timedelta], Any]
    synchronize: Callable[[], None]
    side: int = SIDE_OF_CARD
    copy: int = COPY_OF_CARD


def device(backend: str, number: int) -> Device:
    """The device of a rank: of gloo the CPU, of nccl and hccl card `number`, as the process counts them."""
    if backend == "gloo":
        torch.set_num_threads(1)  # the ranks of a server share its cores
        return Device("cpu", dist.ProcessGroupGloo, lambda: None, SIDE_OF_CORE, COPY_OF_CORE)
    if backend == "nccl":
        if not dist.is_nccl_available():
            raise RuntimeError("this torch was built without NCCL")
        return of_card(f"cuda:{number}", torch.cuda, dist.ProcessGroupNCCL)
    package: Any = import_module("torch_npu")
    return of_card(f"npu:{number}", package.npu, package._C._distributed_c10d.ProcessGroupHCCL)


def of_card(name: str, runtime: Any, kind: Any) -> Device:
    """A card: `runtime` is torch.cuda or torch.npu, `kind` the class of its process groups."""
    runtime.set_device(name)

    def group(store: dist.Store, place: int, size: int, timeout: timedelta) -> Any:
        options = kind.Options()
        options._timeout = timeout
        return kind(store, place, size, options)

    return Device(name, group, runtime.synchronize)
