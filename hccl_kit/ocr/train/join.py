"""How the gradients of several ranks are summed, in one all-reduce with the loss and the batch norm statistics.

The section `parallel` chooses:

framework   MindSpore's AllReduce: HCCL on Ascend, its own implementation on CPU
memory      memory that the ranks of one host share, on CPU: a tenth of the time of MindSpore's own there
mpi         MPI, for ranks on CPU that mpirun has started: much higher bandwidth than MindSpore's own there
a.b.name    a Python function from a float32 numpy vector to its sum over all ranks

The statistics are averaged: otherwise each rank would keep those of its own shard, and the checkpoint would depend on
the rank that saves it.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from mindspore import Parameter, ParameterTuple, Tensor, nn, ops
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.ocr import on_cpu
from hccl_kit.runtime import mpi
from hccl_kit.runtime.flight_recorder import OFF, FlightRecorder
from hccl_kit.runtime.join import World

Gradients = tuple[Tensor, ...]
Arrays = Sequence[NDArray[np.float32]]
Total = Callable[[Arrays, Arrays], None]
"""Writes the sums over the ranks of the first arrays into the second ones, which have the same shapes."""


class Join(Protocol):
    """Sums the loss and the gradients over the ranks, and sets the batch norm statistics to their means."""

    size: int
    """The number of ranks."""
    parts: Mapping[str, nn.Cell]
    """The compiled cells, by any names. The shapes of their inputs never change."""

    def __call__(self, loss: Tensor, gradients: Gradients) -> tuple[Tensor, Gradients, float]:
        """The sums, and the seconds of communication. Every rank must call it."""


class DeviceJoin:
    """By the framework's all-reduce of one vector: on CPU, 26 small ones cost more than the step itself (measured)."""

    def __init__(self, network: nn.Cell, size: int, recorder: FlightRecorder = OFF) -> None:
        self.size = size
        self.recorder = recorder
        self.flatten = Flatten(statistics(network))
        self.all_reduce: Callable[[Tensor], Tensor] = AllReduce()
        self.first = First()
        self.unflatten = Unflatten(network.trainable_params(), statistics(network), size)
        self.parts: Mapping[str, nn.Cell] = {
            name: cell for name, cell in vars(self).items() if isinstance(cell, nn.Cell)
        }

    def __call__(self, loss: Tensor, gradients: Gradients) -> tuple[Tensor, Gradients, float]:
        vector = self.flatten(loss, *gradients)
        self.first(vector).asnumpy()  # waits for the computation; the next one waits for the all-reduce
        started = time.perf_counter()
        with self.recorder.collective("all_reduce", vector.nbytes):
            vector = self.all_reduce(vector)
            self.first(vector).asnumpy()
        seconds = time.perf_counter() - started
        loss, *sums = self.unflatten(vector)
        return loss, tuple(sums), seconds


class HostJoin:
    """By `total` in the memory of the host, without a copy into one vector, which saves 20 ms for 33 MB (measured).

    The sums have memory of their own: two outputs of a graph may be one tensor, and an output may be a constant.
    """

    def __init__(self, network: nn.Cell, size: int, total: Total, recorder: FlightRecorder = OFF) -> None:
        self.size = size
        self.total = total
        self.recorder = recorder
        self.statistics = statistics(network)
        shapes = [(), *(array.shape for array in (*network.trainable_params(), *self.statistics))]
        self.sums = [np.empty(shape, np.float32) for shape in shapes]
        self.average = Average(self.statistics, size)
        self.parts: Mapping[str, nn.Cell] = {"average": self.average}

    def __call__(self, loss: Tensor, gradients: Gradients) -> tuple[Tensor, Gradients, float]:
        given = [array.asnumpy() for array in (loss, *gradients, *self.statistics)]  # waits for the computation
        started = time.perf_counter()
        with self.recorder.collective("all_reduce", sum(array.nbytes for array in self.sums)):
            self.total(given, self.sums)
        seconds = time.perf_counter() - started
        loss, *others = map(Tensor.from_numpy, self.sums)
        if self.statistics:
            self.average(*others[len(gradients) :])
        return loss, tuple(others[: len(gradients)]), seconds


def total_of_vector(function: Callable[[NDArray[np.float32]], NDArray[np.float32]]) -> Total:
    """The sums by a `function` from one float32 vector to its sum over the ranks, which may overwrite the vector."""

    def total(given: Arrays, sums: Arrays) -> None:
        vector = np.concatenate([array.reshape(-1) for array in given])
        shape = vector.shape
        summed = function(vector)
        if summed.shape != shape or summed.dtype != np.float32:
            raise KitError(
                "ocr.join.parallel-strategy-returned",
                "parallel.strategy returned {dtype} {shape} for a float32 vector {shape_2}",
                dtype=summed.dtype,
                shape=summed.shape,
                shape_2=shape,
            )
        ends = np.cumsum([array.size for array in sums])
        for piece, into in zip(np.split(summed, ends[:-1]), sums, strict=True):
            into[...] = piece.reshape(into.shape)

    return total


def statistics(network: nn.Cell) -> list[Parameter]:
    """The batch norm statistics of a network."""
    return [
        parameter
        for parameter in network.get_parameters()
        if parameter.name.endswith(("moving_mean", "moving_variance"))
    ]


class Flatten(nn.Cell):
    """Inputs: the loss and the gradients. Outputs: one vector of them and of the batch norm statistics."""

    def __init__(self, statistics: Sequence[Parameter]) -> None:
        super().__init__(auto_prefix=False)
        self.statistics = ParameterTuple(statistics)

    def construct(self, loss: Tensor, *gradients: Tensor) -> Tensor:
        parts: tuple[Tensor, ...] = (ops.reshape(loss, (1,)),)
        for index in range(len(gradients)):
            parts = (*parts, ops.reshape(gradients[index], (-1,)))
        for index in range(len(self.statistics)):
            parts = (*parts, ops.reshape(self.statistics[index], (-1,)))
        return ops.concat(parts)


class First(nn.Cell):
    """Inputs: a vector. Outputs: its first value: reading it waits for the whole vector but copies one value."""

    def construct(self, vector: Tensor) -> Tensor:
        return vector[0]


class AllReduce(nn.Cell):
    """The framework's all-reduce of one vector, a sum over the ranks."""

    def __init__(self) -> None:
        super().__init__(auto_prefix=False)
        self.sum = ops.AllReduce()

    def construct(self, vector: Tensor) -> Tensor:
        return self.sum(vector)


class Unflatten(nn.Cell):
    """Inputs: the sum over the ranks of Flatten's vector. Outputs: the sums of the loss and of each gradient.

    The batch norm statistics are set to their means. Means of the gradients would be one more pass over all of them.
    """

    def __init__(self, parameters: Sequence[Parameter], statistics: Sequence[Parameter], size: int) -> None:
        super().__init__(auto_prefix=False)
        self.statistics = ParameterTuple(statistics)
        self.size = size
        self.shapes = [tuple(parameter.shape) for parameter in (*parameters, *statistics)]
        self.sizes = [parameter.size for parameter in (*parameters, *statistics)]
        self.gradients = len(parameters)

    def construct(self, vector: Tensor) -> tuple[Tensor, ...]:
        sums: tuple[Tensor, ...] = (vector[0],)
        start = 1
        for index in range(len(self.sizes)):
            piece = ops.reshape(vector[start : start + self.sizes[index]], self.shapes[index])
            start += self.sizes[index]
            if index < self.gradients:
                sums = (*sums, piece)
            else:
                ops.assign(self.statistics[index - self.gradients], piece / self.size)
        return sums


class Average(nn.Cell):
    """Inputs: the sums over the ranks of the batch norm statistics, which it sets to their means."""

    def __init__(self, statistics: Sequence[Parameter], size: int) -> None:
        super().__init__(auto_prefix=False)
        self.statistics = ParameterTuple(statistics)
        self.size = size

    def construct(self, *sums: Tensor) -> Tensor:
        for index in range(len(sums)):
            ops.assign(self.statistics[index], sums[index] / self.size)
        return sums[0]


def join_for(strategy: str, network: nn.Cell, world: World, say: Callable[[str], None]) -> Join | None:
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
