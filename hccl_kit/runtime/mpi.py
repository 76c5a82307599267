"""Communication of ranks under mpirun over MPI: hosts, rendezvous address and configuration before MindSpore is loaded;
then, on CPU, gradients.

The only module of this folder that imports mpi4py; importing `MPI` starts MPI, so the import is inside the function.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hccl_kit.base.errors import KitError
from hccl_kit.base.extra import install_extra
from hccl_kit.base.free_port import free_port
from hccl_kit.base.network import LOOPBACK, is_loopback
from hccl_kit.runtime.consistency import assert_identical
from hccl_kit.runtime.pieces import pieces
from hccl_kit.runtime.worker_env import WorkerEnv

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PIECE = 1 << 18
"""Values of one all-reduce: what stays in the cache of a processor takes a quarter of the time (measured, 35 MB)."""


def rendezvous(env: WorkerEnv, digest: str) -> WorkerEnv:
    """Complete `env` with the rendezvous address and the ranks per host, and check it against MPI.

    `digest` identifies what every rank must share (configuration and program). Raises JointError on every rank if one
    differs from rank 0.
    """
    mpi = _start_mpi()
    world = mpi.COMM_WORLD
    if (world.Get_rank(), world.Get_size()) != (env.rank, env.size):
        raise KitError(
            "runtime.mpi-rank",
            "mpirun reports rank {rank} of {size}, mpi4py {mpi_rank} of {mpi_size}",
            fix="mpi4py and mpirun come from different MPI installations; a pair: {install}",
            install=install_extra("mpi"),
            rank=env.rank,
            size=env.size,
            mpi_rank=world.Get_rank(),
            mpi_size=world.Get_size(),
        )
    host = socket.gethostname()
    port = free_port() if env.rank == 0 else None
    rows: list[tuple[str, str, int | None]] = world.allgather((host, digest, port))
    assert_identical([row[1] for row in rows], [row[0] for row in rows])
    mates = [rank for rank, row in enumerate(rows) if row[0] == host]
    one_host = len(mates) == env.size
    given = env.master_addr if env.master_addr and not is_loopback(env.master_addr) else None
    local_rank = mates.index(env.rank)
    return replace(
        env,
        local_rank=local_rank,
        local_size=len(mates),
        device=local_rank,
        master_addr=LOOPBACK if one_host else given or rows[0][0],
        master_port=rows[0][2],
    )


def sum_over_ranks(given: Sequence[NDArray[np.float32]], sums: Sequence[NDArray[np.float32]]) -> None:
    """Write the sums of `given` over all ranks into contiguous `sums` of the same shapes.

    Every rank must call it, with these shapes.
    """
    import numpy as np  # heavy

    mpi = _start_mpi()
    packed = np.empty(PIECE, np.float32)
    for piece in pieces(given, sums, PIECE):
        for place, values, _ in piece:
            packed[place] = values
        mpi.COMM_WORLD.Allreduce(mpi.IN_PLACE, packed[: piece[-1][0].stop], op=mpi.SUM)
        for place, _, into in piece:
            into[...] = packed[place]


def finish() -> None:
    """Finalize MPI, so that mpirun does not treat the end of this rank as a failure."""
    _start_mpi().Finalize()


def _start_mpi() -> Any:
    try:
        from mpi4py import MPI  # starts MPI
    except (ImportError, RuntimeError) as error:
        raise KitError(
            "runtime.no-mpi4py",
            "mpirun started this program, but mpi4py cannot be loaded: {reason}",
            fix="{install}",
            install=install_extra("mpi"),
            reason=error,
        ) from error
    return MPI
