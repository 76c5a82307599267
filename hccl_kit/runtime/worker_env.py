"""The contract between a launcher and a worker: the environment variables.

The launcher writes these variables and the training program reads them. Launch scripts take the names from NAMES. Every
value is written for both frameworks, so a script starts programs of MindSpore and of torch.

===============  =====================  =======================  ================================================
field            MindSpore, HCCL        torch                    meaning
===============  =====================  =======================  ================================================
rank             RANK_ID                RANK                     0 .. size-1, over all servers
size             RANK_SIZE              WORLD_SIZE               ranks of the job
local_rank       -                      LOCAL_RANK               0 .. local_size-1, on this server
local_size       DEVICE_NUM             LOCAL_WORLD_SIZE         ranks of this server
device           DEVICE_ID              -                        the card: its number in this process, see below
table            RANK_TABLE_FILE        -                        absolute path of the rank table
master_addr      -                      MASTER_ADDR              where rank 0 listens
master_port      -                      MASTER_PORT              a TCP port, 1..65535
node             -                      GROUP_RANK, NODE_RANK    the server: 0, 1, ... in the order of first ranks
run              -                      TORCHELASTIC_RUN_ID      the name of the run, the same for all ranks
visible          ASCEND_RT_VISIBLE_DEVICES (read by CANN)        the cards that the process sees
===============  =====================  =======================  ================================================

Cards: CANN shows a process all cards of the server, or those that `visible` lists, and the process counts what it sees
from 0. DEVICE_ID is that number, because whoever reads it passes it to `set_device`: the physical id without `visible`,
the index into the list with it. Programs of MindSpore read DEVICE_ID and need no list. Programs of torch call
`set_device(LOCAL_RANK)`, which is right only if local rank i has the i-th card that the process sees: they get the
cards of the server's ranks as `visible`, ascending as CANN requires, so DEVICE_ID equals LOCAL_RANK. HCCL compares the
rank table with the physical id, which it knows from CANN. Source: CANN's guide to ASCEND_RT_VISIBLE_DEVICES and
its runtime (hicann/runtime, 2026).

TORCHELASTIC_RUN_ID makes Lightning read RANK, LOCAL_RANK, WORLD_SIZE and GROUP_RANK. Without it, Lightning takes
the numbers of Slurm or of Open MPI, or counts from NODE_RANK and its own number of devices. Torch itself does not read
it as long as TORCHELASTIC_USE_AGENT_STORE is not set (torch 2.13, Lightning 2.6.6, Transformers 5.24).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields

from hccl_kit.base.errors import KitError
from hccl_kit.base.integer import parse_integer
from hccl_kit.base.wording import either

RANK_TABLE_FILE = "RANK_TABLE_FILE"
VISIBLE_DEVICES = "ASCEND_RT_VISIBLE_DEVICES"
"""Read by CANN: the ids of the cards that a process sees, ascending, without spaces; the first is its device 0."""
THREADS = "OMP_NUM_THREADS"
"""Read by OpenMP and by what is built on it, such as torch: threads of a process. Scripts of this project set it to the
cores of a rank unless it is set; without it, every rank would start a thread for each core of the host.
"""
RUN_ID = "HCCL_KIT_RUN_ID"
"""Set by the scripts of this project: the name of the run and of its log folder."""
LOG_DIR = "HCCL_KIT_LOG_DIR"
"""Set by the scripts of this project: the absolute path of this run's log folder."""
RESTART = "HCCL_KIT_RESTART"
"""Set by the scripts of this project when they restart a group: the number of the restart, from 1."""
SERVER = "HCCL_KIT_SERVER"
"""Set by users, read by the scripts of this project: the server_id of this host in the rank table."""
DIAGNOSE = "HCCL_KIT_DIAGNOSE"
"""Set by users: the seconds that a diagnosis after a failure may take, 0: none."""
PLOGS = "ASCEND_PROCESS_LOG_PATH"
"""Read by CANN: the folder that its logs go to. The scripts of this project set it unless the user has."""
TABLE_TIMEOUT = "HCCL_KIT_TABLE_TIMEOUT"
"""Set by users: the seconds that a rank waits for a rank table whose status is `initializing`."""

NAMES: Mapping[str, tuple[str, ...]] = {
    "rank": ("RANK_ID", "RANK"),
    "size": ("RANK_SIZE", "WORLD_SIZE"),
    "local_rank": ("LOCAL_RANK",),
    "local_size": ("DEVICE_NUM", "LOCAL_WORLD_SIZE"),
    "device": ("DEVICE_ID",),
    "table": (RANK_TABLE_FILE,),
    "master_addr": ("MASTER_ADDR",),
    "master_port": ("MASTER_PORT",),
    "node": ("GROUP_RANK", "NODE_RANK"),
    "run": ("TORCHELASTIC_RUN_ID",),
    "visible": (VISIBLE_DEVICES,),
}
"""Field of WorkerEnv -> its variables."""
OF_MINDSPORE = ("RANK_ID", "RANK_SIZE", "DEVICE_NUM", "DEVICE_ID", RANK_TABLE_FILE)
"""Those of NAMES that only MindSpore and HCCL read."""

STARTS_TORCHRUN = ("NPROC_PER_NODE", "NNODES", "FORCE_TORCHRUN")
"""Set by users: with one of them, ms-swift, xtuner or LLaMA-Factory starts torchrun, in every rank."""
MISLEADING = (
    "MINDSPORE_HCCL_CONFIG_PATH",  # overrides RANK_TABLE_FILE
    "ASCEND_DEVICE_ID",
    "MS_ROLE",  # leftovers of msrun make MindSpore wait for a scheduler
    "MS_WORKER_NUM",
    "MS_SCHED_HOST",
    "MS_SCHED_PORT",
    "MS_NODE_ID",
    "OMPI_COMMAND",  # in a shell under mpirun, these two make MindSpore start MPI
    "PMIX_RANK",
    "OMPI_COMM_WORLD_RANK",  # MindSpore takes RANK_ID, RANK_SIZE and DEVICE_ID from these three
    "OMPI_COMM_WORLD_SIZE",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "TORCHELASTIC_USE_AGENT_STORE",  # in a shell under torchrun, makes rank 0 wait for an agent to listen
    "TORCH_NPU_ELASTIC_USE_AGENT_STORE",  # under torch_npu_run, these four do the same with its store
    "TORCH_NPU_USE_PARALLEL_TCPSTORE",
    "PROXY_AGENT_PID_USE_LOCAL_SOCKET_PATH",
    "ENABLE_TIERED_PARALLEL_TCPSTORE",
    "ACCELERATE_TORCH_DEVICE",  # under Ray Train, the card of one rank, which all would use
    *STARTS_TORCHRUN,
)
"""Variables that the launchers of this project unset, because they would override others."""


@dataclass(frozen=True, slots=True)
class WorkerEnv:
    """The environment of one worker process.

    `table` is None if the launcher does not need one (mpirun, torch); `master_addr` and `master_port` are None if the
    framework handles them (msrun); `node`, `run` and `visible` are None if the launcher does not set them. In a plan,
    values that are determined when the job starts are None: a free port, the name of the run, and the path of the table
    on that machine.
    """

    rank: int
    size: int
    local_rank: int
    local_size: int
    device: int
    master_addr: str | None = None
    master_port: int | None = None
    table: str | None = None
    node: int | None = None
    run: str | None = None
    visible: str | None = None

    def __post_init__(self) -> None:
        """Raises KitError if a value is out of range."""
        if not 0 <= self.rank < self.size:
            raise KitError(
                "runtime.rank-outside", "rank {rank} is outside 0..{last}", rank=self.rank, last=self.size - 1
            )
        if not 0 <= self.local_rank < self.local_size <= self.size:
            raise KitError(
                "runtime.local-rank",
                "local rank {rank} of {local_size} does not fit a job of {size}",
                rank=self.local_rank,
                local_size=self.local_size,
                size=self.size,
            )
        if self.device < 0:
            raise KitError("runtime.negative-device", "device {device} is negative", device=self.device)
        if self.master_port is not None and not 1 <= self.master_port <= 65535:
            raise KitError("runtime.master-port", "master port {port} is outside 1..65535", port=self.master_port)

    def to_environ(self) -> dict[str, str]:
        """The variables of this worker, for both frameworks."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: str(value) for key, value in values.items() if value is not None for name in NAMES[key]}

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> WorkerEnv:
        """Read the variables of `to_environ`. Law: `from_environ(e.to_environ()) == e`.

        Raises KitError if a variable is missing or not a number, or if the two names of one field disagree.
        """
        has_port, has_node = bool(environ.get("MASTER_PORT")), any(map(environ.get, NAMES["node"]))
        return cls(
            rank=integer(environ, "rank"),
            size=integer(environ, "size"),
            local_rank=integer(environ, "local_rank"),
            local_size=integer(environ, "local_size"),
            device=integer(environ, "device"),
            master_addr=environ.get("MASTER_ADDR") or None,
            master_port=integer(environ, "master_port") if has_port else None,
            table=environ.get(RANK_TABLE_FILE) or None,
            node=integer(environ, "node") if has_node else None,
            run=environ.get("TORCHELASTIC_RUN_ID") or None,
            visible=environ.get(VISIBLE_DEVICES) or None,
        )


def visible_list(cards: Iterable[int]) -> str:
    """The value of VISIBLE_DEVICES for the cards of a server."""
    return ",".join(map(str, sorted(cards)))


def card_or_none(environ: Mapping[str, str], env: WorkerEnv | None = None) -> int | None:
    """The id of this process's card on its server, also if the process counts only the visible ones; None: unknown."""
    device = env.device if env else integer_or_none(environ, "device")
    visible = environ.get(VISIBLE_DEVICES, "").split(",")
    if device is None or device >= len(visible) or not re.fullmatch("[0-9]{1,10}", visible[device]):
        return device
    return int(visible[device])


def consistent(environ: Mapping[str, str], names: tuple[str, ...]) -> str:
    """The common value of those of `names` that are set. Raises KitError if they differ or none is set."""
    values = {name: environ[name] for name in names if environ.get(name)}
    if not values:
        raise KitError("runtime.not-set", "{names} is not set", names=either(names))
    if len(set(values.values())) > 1:
        shown = " but ".join(f"{name}={value}" for name, value in values.items())
        raise KitError(
            "runtime.contradiction",
            "the environment contradicts itself: {variables}",
            fix="unset the wrong one",
            variables=shown,
        )
    return next(iter(values.values()))


def integer(environ: Mapping[str, str], key: str) -> int:
    """The field `key` of WorkerEnv as a number. Raises KitError if its variable is missing or not an integer."""
    return parse_integer("/".join(NAMES[key]), consistent(environ, NAMES[key]))


def integer_or_none(environ: Mapping[str, str], key: str) -> int | None:
    """As `integer`, but None if it would raise KitError."""
    try:
        return integer(environ, key)
    except KitError:
        return None
