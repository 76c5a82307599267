"""Which launcher started this process? Read from the environment once, before MindSpore is imported and changes it.

Every way in ends in the same WorkerEnv. What was found is said with its reason, and `--launcher` overrides it:
detection never picks in silence.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from hccl_kit.base.errors import KitError
from hccl_kit.base.integer import environ_integer
from hccl_kit.base.network import LOOPBACK, port_of_digest
from hccl_kit.runtime import modelarts, slurm
from hccl_kit.runtime.platform_table import published
from hccl_kit.runtime.worker_env import NAMES, RANK_TABLE_FILE, RUN_ID, WorkerEnv, consistent, integer

MS_SCHEDULER = "MS_SCHED"
FIND_THEMSELVES = ("modelarts", "loop")
"""Ways of starting in which a rank learns from its rank table what the variables leave out."""
OTHER_SIZES = ("SLURM_STEP_NUM_TASKS", "PMI_SIZE")
"""Where srun, and the mpirun of MPICH and Intel, say how many ranks they started; those of the latter do not join."""


@dataclass(frozen=True, slots=True)
class Launch:
    """What started this process, why we think so, and what it was told."""

    launcher: str
    reason: str
    env: WorkerEnv


def detect(environ: Mapping[str, str], *, launcher: str | None = None) -> Launch:
    """Find the launcher of this process in its environment; `launcher` names one of LAUNCHERS and ends the search.

    KitError where the variables of the launcher contradict each other or the rank table.
    """
    if launcher is not None:
        if launcher not in LAUNCHERS:
            raise KitError(f"launcher {launcher!r} is not known; accepted: {', '.join(LAUNCHERS)}")
        return Launch(launcher, "--launcher was given", LAUNCHERS[launcher](environ))
    for name, variables in SIGNS:
        if all(environ.get(variable) for variable in variables):
            shown = " ".join(f"{variable}={environ[variable]}" for variable in variables)
            return Launch(name, f"the environment holds {shown}", LAUNCHERS[name](environ))
    _assert_alone(environ)
    return Launch("single", "no launcher's variables are set", _single(environ))


def _assert_alone(environ: Mapping[str, str]) -> None:
    """Several ranks that each take themselves for the only one would train a network each, into one folder."""
    for size in (*NAMES["size"], *OTHER_SIZES):
        if environ.get(size, "1") not in ("", "0", "1"):
            ways = "; ".join(" ".join(variables) for _, variables in SIGNS if size in variables)
            raise KitError(
                f"{size}={environ[size]} speaks of several ranks, but no launcher's variables are complete; accepted"
                + (f" with it: {ways}" if ways else f": {', '.join(LAUNCHERS)}"),
                hint="export what is missing, or train in one process: --launcher single",
            )


def _single(_: Mapping[str, str]) -> WorkerEnv:
    return WorkerEnv(rank=0, size=1, local_rank=0, local_size=1, device=0)


def _script(environ: Mapping[str, str]) -> WorkerEnv:
    """Our own script sets every field."""
    return WorkerEnv.from_environ(environ)


def _mpirun(environ: Mapping[str, str]) -> WorkerEnv:
    """Open MPI numbers the ranks, and the visible cards in their order. A rank table has no place here.

    The meeting point is agreed on later, over MPI; MASTER_ADDR says where rank 0 is reached if not by its host name.
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
    """Msrun gives DEVICE_ID the local index; its scheduler, which runs the same program, is not a rank.

    msrun says nowhere how many ranks a server holds: on the first one it is taken to hold them all.
    """
    size = environ_integer(environ, "MS_WORKER_NUM", least=1)
    if consistent(environ, ("MS_ROLE",)) == MS_SCHEDULER:
        return WorkerEnv(rank=0, size=size, local_rank=0, local_size=size, device=0)
    rank, local_rank = integer(environ, "rank"), integer(environ, "device")
    local_size = size if rank == local_rank else local_rank + 1
    return WorkerEnv(rank=rank, size=size, local_rank=local_rank, local_size=local_size, device=local_rank)


def _torchrun(environ: Mapping[str, str]) -> WorkerEnv:
    """Torch's names; under torchrun itself its agent listens on MASTER_PORT, so rank 0 takes the next one."""
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


def _loop(environ: Mapping[str, str]) -> WorkerEnv:
    """The tutorials' hand-written loop: RANK_ID, RANK_SIZE, DEVICE_ID and a table, and no meeting point.

    DEVICE_NUM is not believed (the tutorial's four-card script says 8): the table knows which ranks share a server.
    """
    rank, size, device = (integer(environ, field) for field in ("rank", "size", "device"))
    table, data, path = published(Path(consistent(environ, (RANK_TABLE_FILE,))), environ)
    if size != table.world_size:
        raise KitError(
            f"RANK_SIZE={size}, but {path} holds {table.world_size} ranks",
            hint="export the size of the table, or point RANK_TABLE_FILE at the table of this job",
        )
    home, planned = next(((s, d) for s, d in table.by_rank() if d.rank == rank), (None, None))
    if home is None or planned is None:
        raise KitError(f"RANK_ID={rank} is not in {path}, which holds ranks 0..{table.world_size - 1}")
    if planned.id != device:
        raise KitError(
            f"DEVICE_ID={device} for rank {rank}, but {path} gives it device {planned.id} (HCCL: EI0014)",
            hint=f"export DEVICE_ID={planned.id} for RANK_ID={rank}; hccl-gen writes a script that does",
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
    "script": _script,
    "msrun": _msrun,
    "mpirun": _mpirun,
    "torchrun": _torchrun,
    "modelarts": modelarts.member,
    "loop": _loop,
    "srun": slurm.read,
    "single": _single,
}

SIGNS: tuple[tuple[str, tuple[str, ...]], ...] = (
    # The first row whose variables are all set wins. Our script exports torch's names too, so it comes before them;
    # a hand-written loop comes after them, because with MASTER_ADDR it says more, and after ModelArts, where its
    # DEVICE_ID counts the cards of a container. srun may have started any of these.
    ("script", (RUN_ID,)),
    ("msrun", ("MS_ROLE",)),
    ("mpirun", ("OMPI_COMM_WORLD_SIZE",)),
    ("torchrun", ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")),
    ("modelarts", (modelarts.TASK_INDEX, RANK_TABLE_FILE)),
    ("loop", ("RANK_ID", "RANK_SIZE", RANK_TABLE_FILE)),
    ("srun", slurm.SIGN),
)
