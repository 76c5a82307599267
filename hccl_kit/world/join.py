"""Join the process group, and the few collectives that a training program needs besides its gradients.

The only room that starts communication. On Ascend it is HCCL through MindSpore's `init`; on CPU a TCPStore held by rank
0, which is MindSpore's own way without a scheduler process but private (see `_join_cpu`).
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import MutableMapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NoReturn

from hccl_kit.errors import EXIT_OK, KitError
from hccl_kit.worker_env import RANK_TABLE_FILE, WorkerEnv
from hccl_kit.world import mpi
from hccl_kit.world.detect import MS_SCHEDULER, Launch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

JOIN_TIMEOUT = 120
"""Seconds that a rank waits for the others to appear, and at the end for them to be done."""
POLL = 0.02
"""Seconds between two questions to another rank."""
DONE = "hccl_kit.done"
"""The key of rank 0's store that counts the ranks which are done."""


@dataclass(frozen=True, slots=True)
class World:
    """The group this process belongs to. `store` keeps the CPU rendezvous alive as long as the process."""

    env: WorkerEnv
    launcher: str
    device_target: str
    store: Any = None

    @property
    def rank(self) -> int:
        """This process's number, 0 .. size-1."""
        return self.env.rank

    @property
    def size(self) -> int:
        """The number of processes that train together."""
        return self.env.size

    @property
    def is_main(self) -> bool:
        """Whether this rank writes the files that exist once per job."""
        return self.env.rank == 0

    def all_reduce(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """The sum of `values` (any shape, float32) over all ranks; every rank must call it, with one shape."""
        if self.size == 1:
            return values
        from mindspore import Tensor, ops  # noqa: PLC0415  # heavy

        result: NDArray[np.float32] = ops.AllReduce()(Tensor(values)).asnumpy()
        return result

    def broadcast(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Rank 0's `values` on every rank: a sum in which only rank 0 brings something (CPU knows no other way)."""
        return self.all_reduce(values if self.is_main else values * 0)

    def gather(self, row: NDArray[np.float32]) -> NDArray[np.float32]:
        """The rows (shape: n) of all ranks as size x n, by a sum over disjoint rows."""
        import numpy as np  # noqa: PLC0415  # heavy

        rows = np.zeros((self.size, row.size), np.float32)
        rows[self.rank] = row
        return self.all_reduce(rows)

    def barrier(self) -> None:
        """Return when every rank is here."""
        import numpy as np  # noqa: PLC0415  # heavy

        self.all_reduce(np.ones(1, np.float32))


def prepare(launch: Launch, digest: str, environ: MutableMapping[str, str]) -> WorkerEnv:
    """What must happen before MindSpore is imported: under mpirun, the ranks agree over MPI on what they share.

    `digest` names what all ranks must share; elsewhere than under mpirun it is compared after joining.
    """
    if launch.launcher != "mpirun" or launch.env.size == 1:
        return launch.env
    # With a table set, MindSpore 2.7.1 and later would read the ranks from it and not from MPI.
    environ.pop(RANK_TABLE_FILE, None)
    return mpi.agree(launch.env, digest)


def join(launch: Launch, env: WorkerEnv, device_target: str) -> World:
    """Form the group and assert that MindSpore's rank and size are the plan's.

    Raises KitError where the group does not form in JOIN_TIMEOUT seconds or numbers its ranks otherwise.
    """
    store = None
    if launch.launcher == "msrun" and os.environ.get("MS_ROLE") == MS_SCHEDULER:
        _schedule()
    elif device_target == "Ascend":
        _join_ascend(launch, env)
    elif launch.launcher == "msrun":
        _join_msrun()
    elif env.size > 1:
        store = _join_cpu(env)
    if env.size > 1:
        _assert_ranks(env)
    return World(env, launch.launcher, device_target, store)


def finish(world: World) -> None:
    """The orderly end of a rank on CPU: nobody leaves before all are done, and MPI is told so; HCCL sees to it itself.

    Raises KitError where the others are not done in JOIN_TIMEOUT seconds.
    """
    if world.size == 1 or world.device_target == "Ascend":
        return
    if world.store is not None:
        _part(world)
    else:
        time.sleep(1)  # msrun has no store; the receipts that `_part` speaks of are sent meanwhile
    if world.launcher == "mpirun":
        mpi.finish()


def _part(world: World) -> None:
    """Count in rank 0's store who is done, and leave when all are.

    A barrier would not do: MindSpore's all-reduce returns on one rank while another still waits for its receipt, and
    where the first ends then, the other fails after 30 s (measured: one end in six).
    """
    end = time.monotonic() + JOIN_TIMEOUT
    try:
        done = world.store.add(DONE, 1)
        while done < world.size:
            if time.monotonic() > end:
                raise KitError(
                    f"rank {world.rank} is done, but only {done} of {world.size} ranks are after {JOIN_TIMEOUT} s",
                    hint="the logs of the other ranks say more",
                )
            time.sleep(POLL)
            done = world.store.add(DONE, 0)
    except RuntimeError:  # rank 0 has left, so all were done, or it failed and says so itself
        return
    if world.is_main:
        time.sleep(10 * POLL)  # the others ask a last time


def _join_ascend(launch: Launch, env: WorkerEnv) -> None:
    """HCCL: by the rank table where the launch has one, by MPI or msrun's scheduler where not."""
    import mindspore as ms  # noqa: PLC0415  # heavy
    from mindspore.communication import init  # noqa: PLC0415

    ms.set_device("Ascend", env.device)
    if env.size == 1:
        return
    if launch.launcher == "torchrun" and env.table is None:
        raise KitError(
            f"torchrun's variables tell HCCL nothing about the cards, and {RANK_TABLE_FILE} is not set",
            hint="start the job with the script that hccl-gen writes, with mpirun or with msrun",
        )
    init("hccl")


def _join_msrun() -> None:
    from mindspore.communication import init  # noqa: PLC0415  # heavy

    init()


def _schedule() -> NoReturn:
    """The scheduler of msrun runs this program too: it serves inside `init`, and is no rank afterwards."""
    from mindspore.communication import init  # noqa: PLC0415  # heavy

    init()
    sys.exit(EXIT_OK)


def _join_cpu(env: WorkerEnv) -> Any:
    """A TCPStore on rank 0; measured at 3 s for two ranks where MindSpore's scheduler takes 10 to 14.

    `_init_with_store` is private: the public `init_process_group` takes only "hccl". A test fails when a release moves
    it. The others must not knock before rank 0 listens: MindSpore would retry for 10 to 100 s.
    """
    from mindspore.communication import management  # noqa: PLC0415
    from mindspore.mint.distributed import TCPStore  # noqa: PLC0415

    if env.master_addr is None or env.master_port is None:
        raise KitError(
            "no meeting point: MASTER_ADDR and MASTER_PORT are not set",
            hint="start the job with the script that hccl-gen writes, or with mpirun",
        )
    if env.rank == 0:
        _assert_free(env.master_port)
    else:
        _wait_until_listening(env.master_addr, env.master_port, env.rank)
    limit = timedelta(seconds=JOIN_TIMEOUT)
    try:
        store = TCPStore(env.master_addr, env.master_port, env.size, env.rank == 0, limit)
        management._init_with_store(timeout=limit, world_size=env.size, rank=env.rank, store=store)
    except RuntimeError as error:
        first = str(error).strip().split("\n")[0]
        raise KitError(
            f"rank {env.rank} of {env.size} found no group at {env.master_addr}:{env.master_port}: {first}",
            hint="see whether every rank was started; each has its own log",
        ) from error
    return store


def _assert_free(port: int) -> None:
    try:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("", port))
    except OSError as error:
        raise KitError(
            f"port {port} on this host cannot be used as meeting point: {error.strerror}",
            hint="is another job running? export MASTER_PORT=<a free port> for all ranks",
        ) from error


def _wait_until_listening(host: str, port: int, rank: int) -> None:
    end = time.monotonic() + JOIN_TIMEOUT
    while True:
        try:
            socket.create_connection((host, port), timeout=1).close()
        except OSError as error:
            if time.monotonic() > end:
                raise KitError(
                    f"rank {rank}: nothing listens on {host}:{port} after {JOIN_TIMEOUT} s",
                    hint="did rank 0 start? its log says more",
                ) from error
            time.sleep(0.05)
        else:
            return


def _assert_ranks(env: WorkerEnv) -> None:
    from mindspore.communication import get_group_size, get_rank  # noqa: PLC0415

    found = (get_rank(), get_group_size())
    if found != (env.rank, env.size):
        raise KitError(
            f"MindSpore says rank {found[0]} of {found[1]}, the launcher says rank {env.rank} of {env.size}",
            hint="another launcher's variables are left in the environment, or --launcher is wrong",
        )
