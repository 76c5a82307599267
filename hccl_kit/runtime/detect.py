"""The launcher of this process, detected from the environment before MindSpore is imported and changes it.

Every launcher gives the same WorkerEnv. Detection always returns the reason for its choice, which is logged, and
`--launcher` overrides it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from hccl_kit.base.errors import KitError
from hccl_kit.base.integer import environ_integer
from hccl_kit.base.message import Message
from hccl_kit.base.network import LOOPBACK, port_of_digest
from hccl_kit.base.wording import row
from hccl_kit.runtime import slurm
from hccl_kit.runtime.platform_table import TASK_INDEX, check_size, modelarts_env, no_such_rank, wait_for_table
from hccl_kit.runtime.worker_env import NAMES, RANK_TABLE_FILE, RUN_ID, WorkerEnv, consistent, integer

MS_SCHEDULER = "MS_SCHED"
TABLE_LAUNCHERS = ("modelarts", "loop")
"""Launchers whose ranks read the rank table, because their variables are not complete."""
OTHER_SIZES = ("SLURM_STEP_NUM_TASKS", "PMI_SIZE")
"""The number of ranks under srun, and under the mpirun of MPICH and Intel, which is not supported."""


@dataclass(frozen=True, slots=True)
class Launch:
    """The launcher of this process, the reason for this choice, and the process as a worker."""

    launcher: str
    reason: str
    env: WorkerEnv

    def is_scheduler(self, environ: Mapping[str, str]) -> bool:
        """Whether this process is msrun's scheduler: it runs the same program with rank 0 in `env`, but is no rank."""
        return self.launcher == "msrun" and environ.get("MS_ROLE") == MS_SCHEDULER


def detect(environ: Mapping[str, str], *, launcher: str | None = None) -> Launch:
    """Detect the launcher of this process from its environment, unless `launcher` names one of LAUNCHERS.

    Raises KitError if the variables of the launcher contradict each other or the rank table.
    """
    if launcher is not None:
        if launcher not in LAUNCHERS:
            raise KitError(
                "runtime.unknown-launcher",
                "unknown launcher {launcher!r}; accepted: {accepted}",
                launcher=launcher,
                accepted=row(LAUNCHERS),
            )
        return Launch(launcher, "--launcher was given", LAUNCHERS[launcher](environ))
    for name, variables in VARIABLES:
        if all(environ.get(variable) for variable in variables):
            shown = " ".join(f"{variable}={environ[variable]}" for variable in variables)
            return Launch(name, f"the environment holds {shown}", LAUNCHERS[name](environ))
    _assert_alone(environ)
    return Launch("single", "no launcher's variables are set", _single(environ))


def _assert_alone(environ: Mapping[str, str]) -> None:
    """Raises KitError if a variable indicates several ranks: each would train its own network, into one folder."""
    for size in (*NAMES["size"], *OTHER_SIZES):
        if environ.get(size, "1") not in ("", "0", "1"):
            sets = "; ".join(" ".join(variables) for _, variables in VARIABLES if size in variables)
            accepted = Message("runtime.launchers", ": {launchers}", launchers=row(LAUNCHERS))
            if sets:
                accepted = Message("runtime.variable-sets", " with it: {sets}", sets=sets)
            raise KitError(
                "runtime.incomplete",
                "{variable}={value} indicates several ranks, but no launcher's variable set is complete; "
                "accepted{accepted}",
                fix="export what is missing, or train in one process: --launcher single",
                variable=size,
                value=environ[size],
                accepted=accepted,
            )


def _single(_: Mapping[str, str]) -> WorkerEnv:
    return WorkerEnv(rank=0, size=1, local_rank=0, local_size=1, device=0)


def _mpirun(environ: Mapping[str, str]) -> WorkerEnv:
    """Open MPI numbers the ranks, and the visible cards in their order. A rank table is not used.

    The rendezvous address is set later, over MPI; MASTER_ADDR overrides the host name of rank 0.
    """
    return WorkerEnv(
        rank=environ_integer(environ, "OMPI_COMM_WORLD_RANK"),
        size=environ_integer(environ, "OMPI_COMM_WORLD_SIZE"),
        local_rank=environ_integer(environ, "OMPI_COMM_WORLD_LOCAL_RANK"),
        local_size=environ_integer(environ, "OMPI_COMM_WORLD_LOCAL_SIZE"),
        device=environ_integer(environ, "OMPI_COMM_WORLD_LOCAL_RANK"),
        master_addr=environ.get("MASTER_ADDR") or None,
    )


def _msrun(environ: Mapping[str, str]) -> WorkerEnv:
    """DEVICE_ID is the local index under msrun, whose scheduler runs the same program and is not a rank.

    The number of ranks per server is not set: the first server is assumed to have all of them.
    """
    size = environ_integer(environ, "MS_WORKER_NUM", least=1)
    if consistent(environ, ("MS_ROLE",)) == MS_SCHEDULER:
        return WorkerEnv(rank=0, size=size, local_rank=0, local_size=size, device=0)
    rank, local_rank = integer(environ, "rank"), integer(environ, "device")
    local_size = size if rank == local_rank else local_rank + 1
    return WorkerEnv(rank=rank, size=size, local_rank=local_rank, local_size=local_size, device=local_rank)


def _torchrun(environ: Mapping[str, str]) -> WorkerEnv:
    """The variables of torch; the agent of torchrun listens on MASTER_PORT, so rank 0 uses the next port."""
    taken = environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    port = integer(environ, "master_port") + (1 if taken else 0)
    rank, size = integer(environ, "rank"), integer(environ, "size")
    local_rank = integer(environ, "local_rank") if environ.get("LOCAL_RANK") else rank
    return WorkerEnv(
        rank=rank,
        size=size,
        local_rank=local_rank,
        local_size=environ_integer(environ, "LOCAL_WORLD_SIZE", least=1) if environ.get("LOCAL_WORLD_SIZE") else size,
        device=integer(environ, "device") if environ.get("DEVICE_ID") else local_rank,
        master_addr=consistent(environ, ("MASTER_ADDR",)),
        master_port=port,
        table=environ.get(RANK_TABLE_FILE) or None,
    )


def _shell_loop(environ: Mapping[str, str]) -> WorkerEnv:
    """The shell loop of the tutorials: RANK_ID, RANK_SIZE, DEVICE_ID and a rank table, without rendezvous address.

    DEVICE_NUM is ignored (the tutorial's script for four cards sets 8): the table has the ranks of each server.
    """
    rank, size, device = (integer(environ, field) for field in ("rank", "size", "device"))
    table, data, path = wait_for_table(Path(consistent(environ, (RANK_TABLE_FILE,))), environ)
    check_size(size, table, path)
    home, planned = next(((s, d) for s, d in table.by_rank() if d.rank == rank), (None, None))
    if home is None or planned is None:
        raise no_such_rank(rank, table, path)
    if planned.id != device:
        raise KitError(
            "runtime.other-device",
            "DEVICE_ID={device} for rank {rank}, but {path} gives it device {planned} (HCCL: EI0014)",
            hint=Message(
                "runtime.other-device.fix",
                "export DEVICE_ID={device} for RANK_ID={rank}; hccl-gen writes a script that does",
                device=planned.id,
                rank=rank,
            ),
            device=device,
            rank=rank,
            path=path,
            planned=planned.id,
        )
    ranks = sorted(d.rank for d in home.devices)
    one_server = len(table.servers) == 1
    return WorkerEnv(
        rank=rank,
        size=size,
        local_rank=ranks.index(rank),
        local_size=len(ranks),
        device=device,
        master_addr=environ.get("MASTER_ADDR") or (LOOPBACK if one_server else table.by_rank()[0][0].id),
        master_port=integer(environ, "master_port") if environ.get("MASTER_PORT") else _port(data, one_server),
        table=str(path),
    )


def _port(table: bytes, one_server: bool) -> int:
    """The port on which rank 0 of a shell loop listens, derived from the table and, on one host, from the session."""
    session = os.getsid(0) if one_server else 0
    text = hashlib.sha256(table).digest() + str(session).encode()
    return port_of_digest(hashlib.sha256(text).hexdigest())


LAUNCHERS: Mapping[str, Callable[[Mapping[str, str]], WorkerEnv]] = {
    "script": WorkerEnv.from_environ,
    "msrun": _msrun,
    "mpirun": _mpirun,
    "torchrun": _torchrun,
    "modelarts": modelarts_env,
    "loop": _shell_loop,
    "srun": slurm.read,
    "single": _single,
}

VARIABLES: tuple[tuple[str, tuple[str, ...]], ...] = (
    # The first row whose variables are all set wins. Our script exports torch's names too, so it comes before them;
    # a hand-written loop comes after them, because with MASTER_ADDR they are more specific, and after ModelArts, where
    # its DEVICE_ID counts the cards of a container. srun may have started any of these.
    ("script", (RUN_ID,)),
    ("msrun", ("MS_ROLE",)),
    ("mpirun", ("OMPI_COMM_WORLD_SIZE",)),
    ("torchrun", ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")),
    ("modelarts", (TASK_INDEX, RANK_TABLE_FILE)),
    ("loop", ("RANK_ID", "RANK_SIZE", RANK_TABLE_FILE)),
    ("srun", slurm.SIGN),
)
