"""MindSpore on the CPU, over the same rendezvous as `hccl-kit train`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import mindspore as ms
import numpy as np
from mindspore import Tensor, ops
from mindspore.communication import create_group

from hccl_kit.base.free_port import free_port
from hccl_kit.runtime import cpu
from hccl_kit.runtime.worker_env import WorkerEnv
from hccl_kit.selftest.measured import Operator
from hccl_kit.selftest.ranks import work
from hccl_kit.selftest.ranks.channel import Channel
from hccl_kit.selftest.ranks.work import SIDE_OF_CORE, Call, Work

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PORT_PATIENCE = 60.0


class MindSporeGroup:
    """A group of MindSpore's own."""

    def __init__(self, name: str) -> None:
        self._name = name

    def call(self, operator: Operator, source: NDArray[np.float32], _count: int) -> Call:
        """A collective of this group. The input is made a tensor once, as in training."""
        kinds: dict[Operator, Callable[[], Any]] = {
            "all_reduce": lambda: ops.AllReduce(group=self._name),
            "all_gather": lambda: ops.AllGather(group=self._name),
            "broadcast": lambda: ops.Broadcast(0, group=self._name),
        }
        operation, is_tuple = kinds[operator](), operator == "broadcast"
        given = Tensor(source)
        last: list[Any] = []

        def run() -> None:
            output = operation((given,))[0] if is_tuple else operation(given)
            output.asnumpy()  # waits for the end
            last[:] = [output]

        return Call(fill=lambda: None, run=run, result=lambda: np.asarray(last[0].asnumpy(), np.float32))

    def close(self) -> None:
        """Nothing: groups are kept by their name."""


class MindSporeCpu:
    """The group of all ranks, and groups of some by name."""

    skipped: tuple[Operator, ...] = ("reduce_scatter", "all_to_all")

    def __init__(self, channel: Channel, env: WorkerEnv) -> None:
        self._channel, self._size = channel, env.size
        ms.set_device("CPU")
        self._made: set[str] = set()
        everybody = list(range(env.size))
        if env.rank == 0:
            channel.put("port", str(free_port(env.master_addr or "")), everybody)
        port = int(channel.get("port", _PORT_PATIENCE))
        self._store = cpu.rendezvous(replace(env, master_port=port)) if env.size > 1 else None

    def group(self, ranks: Sequence[int], _step: int, _seconds: float) -> MindSporeGroup:
        """A group by the name of its ranks."""
        if len(ranks) == self._size:
            return MindSporeGroup("mccl_world_group")
        name = "selftest-" + "-".join(map(str, ranks))
        if name not in self._made:
            create_group(name, list(ranks))
            self._made.add(name)
        return MindSporeGroup(name)

    def product(self) -> Work:
        """A product of matrices by MindSpore."""
        matrix = Tensor(np.random.default_rng(0).random((SIDE_OF_CORE, SIDE_OF_CORE), np.float32))
        product = ops.MatMul()
        return work.product(lambda: product(matrix, matrix).asnumpy())  # waits for the end

    def copy(self) -> Work:
        """A copy by numpy."""
        return work.copy_on_cpu()
