"""MPI through mpi4py. Calls do not block, so that a partner that is gone is noticed after a time."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from mpi4py import MPI

from hccl_kit.selftest.measured import Operator
from hccl_kit.selftest.ranks import work
from hccl_kit.selftest.ranks.work import SIDE_OF_CORE, Call, Work

if TYPE_CHECKING:
    from numpy.typing import NDArray


class MpiGroup:
    """A communicator."""

    def __init__(self, comm: MPI.Intracomm, seconds: float) -> None:
        self._comm, self._seconds = comm, seconds

    def call(self, operator: Operator, source: NDArray[np.float32], count: int) -> Call:
        """A collective of this communicator."""
        comm = self._comm
        taken = source.copy()
        received = np.empty(count // (comm.Get_size() if operator == "reduce_scatter" else 1), np.float32)
        calls: dict[Operator, Callable[[], MPI.Request]] = {
            "all_reduce": lambda: comm.Iallreduce(taken, received),
            "all_gather": lambda: comm.Iallgather(taken, received),
            "reduce_scatter": lambda: comm.Ireduce_scatter_block(taken, received),
            "broadcast": lambda: comm.Ibcast(taken),
            "all_to_all": lambda: comm.Ialltoall(taken, received),
        }
        start = calls[operator]
        return Call(
            fill=lambda: np.copyto(taken, source),
            run=lambda: self._wait(start()),
            result=lambda: taken if operator == "broadcast" else received,
        )

    def close(self) -> None:
        """Nothing: to free a communicator is a collective too, which a lost partner would hold up."""

    def _wait(self, request: Any) -> None:
        end = time.monotonic() + self._seconds
        while not request.Test():
            if time.monotonic() > end:
                raise TimeoutError(f"a call took more than {self._seconds:g} s")
            os.sched_yield()


class Mpi4py:
    """MPI_COMM_WORLD, whose ranks are those of the job."""

    skipped: tuple[Operator, ...] = ()

    def __init__(self) -> None:
        MPI.COMM_WORLD.Set_errhandler(MPI.ERRORS_RETURN)

    def group(self, ranks: Sequence[int], step: int, seconds: float) -> MpiGroup:
        """A communicator of these ranks only; the others take no part in making it."""
        world = MPI.COMM_WORLD
        if len(ranks) == world.Get_size():
            return MpiGroup(world, seconds)
        members = world.Get_group().Incl(list(ranks))
        return MpiGroup(world.Create_group(members, tag=step % 16384), seconds)

    def product(self) -> Work:
        """A product of matrices by numpy."""
        matrix = np.random.default_rng(0).random((SIDE_OF_CORE, SIDE_OF_CORE), np.float32)
        out = np.empty_like(matrix)
        return work.product(lambda: np.matmul(matrix, matrix, out=out))

    def copy(self) -> Work:
        """A copy by numpy."""
        return work.copy_on_cpu()
