"""Join the process group, and the collectives that a training program needs besides its gradients.

The only module that starts communication. On Ascend it is HCCL through MindSpore's `init`; on CPU a TCPStore on rank
0, MindSpore's private alternative to a scheduler process (see `cpu.rendezvous`).
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from hccl_kit.base.errors import EXIT_OK, KitError
from hccl_kit.runtime import cpu, mpi
from hccl_kit.runtime.detect import TABLE_LAUNCHERS, Launch
from hccl_kit.runtime.flight_recorder import FlightRecorder, recorder
from hccl_kit.runtime.worker_env import RANK_TABLE_FILE, WorkerEnv

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class World:
    """The group of this process. `store` keeps the CPU rendezvous alive as long as the process."""

    env: WorkerEnv
    launcher: str
    device_target: str
    store: Any = None

    @property
    def recorder(self) -> FlightRecorder:
        """Where the collectives of this rank are recorded."""
        return recorder(env=self.env)

    @property
    def rank(self) -> int:
        """This process's number, 0 .. size-1."""
        return self.env.rank

    @property
    def size(self) -> int:
        """The number of processes in the group."""
        return self.env.size

    @property
    def is_main(self) -> bool:
        """Whether this rank writes the files of the job."""
        return self.env.rank == 0

    def all_reduce(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """The sum of `values` (any shape, float32) over all ranks; every rank must call it, with one shape."""
        if self.size == 1:
            return values
        from mindspore import Tensor, ops  # heavy

        with self.recorder.collective("all_reduce", values.nbytes):
            result: NDArray[np.float32] = ops.AllReduce()(Tensor(values)).asnumpy()
        return result

    def broadcast(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Rank 0's `values` on every rank, bit by bit: a sum with zeros, since CPU has no other collective.

        The zeros are -0.0, since x + 0.0 is not x if x is -0.0.
        """
        import numpy as np  # heavy

        return self.all_reduce(values if self.is_main else np.full_like(values, -0.0))

    def share(self, text: str) -> str:
        """Rank 0's `text` on every rank, up to 16 MB of UTF-8; every rank must call it, the others with any text."""
        import numpy as np  # heavy

        data = np.frombuffer(text.encode(), np.uint8).astype(np.float32)  # CPU cannot sum bytes
        size = int(self.broadcast(np.array([data.size], np.float32))[0])
        if not size:
            return ""
        return self.broadcast(data if self.is_main else np.zeros(size, np.float32)).astype(np.uint8).tobytes().decode()

    def gather(self, row: NDArray[np.float32]) -> NDArray[np.float32]:
        """The rows (shape: n) of all ranks as size x n, by a sum over disjoint rows."""
        import numpy as np  # heavy

        rows = np.zeros((self.size, row.size), np.float32)
        rows[self.rank] = row
        return self.all_reduce(rows)


def prepare(launch: Launch, digest: str, environ: MutableMapping[str, str]) -> WorkerEnv:
    """Prepare the environment before MindSpore is imported; under mpirun, exchange addresses and digests over MPI.

    A launcher whose ranks read the rank table gets the variables for HCCL and MindSpore here. `digest` identifies what
    all ranks must share; with other launchers than mpirun it is compared after joining.
    """
    if launch.launcher in TABLE_LAUNCHERS:
        environ.update(launch.env.to_environ())
    if launch.launcher != "mpirun" or launch.env.size == 1:
        return launch.env
    # With a table set, MindSpore 2.7.1 and later would read the ranks from it and not from MPI.
    environ.pop(RANK_TABLE_FILE, None)
    return mpi.rendezvous(launch.env, digest)


def join(launch: Launch, env: WorkerEnv, device_target: str) -> World:
    """Form the group and check that MindSpore has the rank and size of the launcher.

    Raises KitError if the group does not form in cpu.JOIN_TIMEOUT seconds or has other ranks.
    """
    if launch.is_scheduler(os.environ):
        _schedule()
    with recorder(env=env).collective("join"):
        return _join(launch, env, device_target)


def _join(launch: Launch, env: WorkerEnv, device_target: str) -> World:
    store = None
    if device_target == "Ascend":
        _join_ascend(launch, env)
    elif launch.launcher == "msrun":
        _join_msrun()
    elif env.size > 1:
        store = cpu.rendezvous(env)
    if env.size > 1:
        _assert_ranks(env)
    return World(env, launch.launcher, device_target, store)


def finish(world: World) -> None:
    """Finalize a rank on CPU: wait until all ranks are done, and finalize MPI; HCCL does this itself.

    Raises KitError if the others are not done in cpu.JOIN_TIMEOUT seconds.
    """
    if world.size == 1 or world.device_target == "Ascend":
        return
    with world.recorder.collective("finish"):
        _finish(world)


def _finish(world: World) -> None:
    if world.store is not None:
        cpu.finalize(world.store, world.env)
    else:
        time.sleep(1)  # msrun has no store; the acknowledgements that `cpu.finalize` describes are sent meanwhile
    if world.launcher == "mpirun":
        mpi.finish()


def _join_ascend(launch: Launch, env: WorkerEnv) -> None:
    """HCCL: with the rank table if the launcher has one, otherwise with MPI or msrun's scheduler."""
    import mindspore as ms  # heavy
    from mindspore.communication import init

    ms.set_device("Ascend", env.device)
    if env.size == 1:
        return
    if launch.launcher == "torchrun" and env.table is None:
        raise KitError(
            "runtime.torchrun",
            "torchrun's variables do not describe the cards for HCCL, and {variable} is not set",
            fix="start the job with the script that hccl-gen writes, with mpirun or with msrun",
            variable=RANK_TABLE_FILE,
        )
    if launch.launcher == "srun":
        raise KitError(
            "runtime.srun",
            "srun's variables do not describe the cards for HCCL",
            fix="start the job with the script that hccl-kit launch TABLE --to slurm writes from its rank table",
        )
    init("hccl")


def _join_msrun() -> None:
    from mindspore.communication import init  # heavy

    init()


def _schedule() -> NoReturn:
    """The scheduler of msrun runs this program too: it serves inside `init` and is not a rank."""
    from mindspore.communication import init  # heavy

    try:
        init()
    except RuntimeError as error:
        place = f"{os.environ.get('MS_SCHED_HOST')}:{os.environ.get('MS_SCHED_PORT')}"
        raise KitError(
            "runtime.scheduler",
            "msrun's scheduler at {place} ended: {reason}",
            fix="if another program uses the port: msrun --master_port=PORT; if a rank ended: see its worker_N.log",
            place=place,
            reason=str(error).splitlines()[0],
        ) from error
    sys.exit(EXIT_OK)


def _assert_ranks(env: WorkerEnv) -> None:
    from mindspore.communication import get_group_size, get_rank

    reported = (get_rank(), get_group_size())
    if reported != (env.rank, env.size):
        raise KitError(
            "runtime.mindspore-rank",
            "MindSpore reports rank {found_rank} of {found_size}, the launcher rank {rank} of {size}",
            fix="the environment has variables of another launcher, or --launcher is wrong",
            found_rank=reported[0],
            found_size=reported[1],
            rank=env.rank,
            size=env.size,
        )
