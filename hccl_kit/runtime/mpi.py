"""What ranks under mpirun tell each other over MPI: before MindSpore is loaded hosts, meeting point, configuration;
then, where they train on CPU, their gradients.

The only room that imports mpi4py; importing `MPI` starts MPI, so the import stands inside the function.
"""

from __future__ import annotations

import socket
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hccl_kit.base.errors import KitError
from hccl_kit.base.network import LOOPBACK, is_loopback
from hccl_kit.runtime.consistency import assert_identical
from hccl_kit.runtime.worker_env import WorkerEnv

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def rendezvous(env: WorkerEnv, digest: str) -> WorkerEnv:
    """Fill in the meeting point and check, host by host, what mpirun told this rank.

    `digest` names what every rank must share (configuration and program); KitError says which rank differs from rank 0.
    Every rank raises together, so that none waits for another.
    """
    mpi = _start_mpi()
    world = mpi.COMM_WORLD
    if (world.Get_rank(), world.Get_size()) != (env.rank, env.size):
        raise KitError(
            f"mpirun says rank {env.rank} of {env.size}, mpi4py says {world.Get_rank()} of {world.Get_size()}",
            hint="mpi4py and mpirun come from different MPI installations; pip install -e '.[mpi]' brings a pair",
        )
    host = socket.gethostname()
    port = _free_port() if env.rank == 0 else None
    rows: list[tuple[str, str, int | None]] = world.allgather((host, digest, port))
    assert_identical([row[1] for row in rows], [row[0] for row in rows])
    mates = [rank for rank, row in enumerate(rows) if row[0] == host]
    one_host = len(mates) == env.size
    told = env.master_addr if env.master_addr and not is_loopback(env.master_addr) else None
    local_rank = mates.index(env.rank)
    return replace(
        env,
        local_rank=local_rank,
        local_size=len(mates),
        device=local_rank,
        master_addr=LOOPBACK if one_host else told or rows[0][0],
        master_port=rows[0][2],
    )


def sum_over_ranks(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """The sum of `values` (any shape, float32) over all ranks, in place; every rank must call it, with one shape."""
    mpi = _start_mpi()
    mpi.COMM_WORLD.Allreduce(mpi.IN_PLACE, values, op=mpi.SUM)
    return values


def finish() -> None:
    """Tell mpirun that this rank ends in order."""
    _start_mpi().Finalize()


def _start_mpi() -> Any:
    try:
        from mpi4py import MPI  # noqa: PLC0415  # starts MPI
    except (ImportError, RuntimeError) as error:
        raise KitError(
            f"mpirun started this program, but mpi4py cannot be loaded: {error}", hint="pip install -e '.[mpi]'"
        ) from error
    return MPI


def _free_port() -> int:
    """A port of this host that nobody listens on now, found by binding."""
    with socket.socket() as probe:
        probe.bind(("", 0))
        port: int = probe.getsockname()[1]
        return port
