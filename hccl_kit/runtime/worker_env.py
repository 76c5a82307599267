"""The contract between a launcher and a worker: which fact travels under which environment variable.

The launch wing writes these variables, the training wing reads them; nothing else passes between the two, and no
other module knows the names. One value is written for both frameworks, so a script starts a MindSpore or a torch
program alike.

===============  =====================  ======================  ==================================================
field            MindSpore, HCCL        torch                   meaning
===============  =====================  ======================  ==================================================
rank             RANK_ID                RANK                    0 .. size-1, over all servers
size             RANK_SIZE              WORLD_SIZE              ranks of the job
local_rank       -                      LOCAL_RANK              0 .. local_size-1, on this server
local_size       DEVICE_NUM             LOCAL_WORLD_SIZE        ranks of this server
device           DEVICE_ID              -                       physical id of the card
table            RANK_TABLE_FILE        -                       absolute path of the rank table
master_addr      -                      MASTER_ADDR             where rank 0 listens
master_port      -                      MASTER_PORT             a TCP port, 1..65535
===============  =====================  ======================  ==================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from hccl_kit.base.errors import KitError
from hccl_kit.base.integer import parse_integer

RANK_TABLE_FILE = "RANK_TABLE_FILE"
VISIBLE_DEVICES = "ASCEND_RT_VISIBLE_DEVICES"
"""Read by the driver: the physical ids that a process may use, ascending; the first is its device 0."""
RUN_ID = "HCCL_KIT_RUN_ID"
"""Set by our own scripts only: the name of the run and of its log folder; on several servers the node is added."""
LOG_DIR = "HCCL_KIT_LOG_DIR"
"""Set by our own scripts only: the folder of this run's logs, absolute."""
RESTART = "HCCL_KIT_RESTART"
"""Set by our own scripts only, from the second start of a group on: which restart this is, 1, 2, ..."""
LINK_PORT = "HCCL_KIT_LINK_PORT"
"""Set by people, read by our own scripts: where the nodes of a job tell each other how it goes, a TCP port."""
KEY_FILE = "HCCL_KIT_SECRET_FILE"
"""Set by people, read by our own scripts: a file with the secret by which the nodes of a job know each other."""
SERVER = "HCCL_KIT_SERVER"
"""Set by people, read by our own scripts: the server_id that the rank table gives this host."""
TABLE_TIMEOUT = "HCCL_KIT_TABLE_TIMEOUT"
"""Set by people: the seconds that a rank waits for a rank table whose status is `initializing`."""

NAMES: Mapping[str, tuple[str, ...]] = {
    "rank": ("RANK_ID", "RANK"),
    "size": ("RANK_SIZE", "WORLD_SIZE"),
    "local_rank": ("LOCAL_RANK",),
    "local_size": ("DEVICE_NUM", "LOCAL_WORLD_SIZE"),
    "device": ("DEVICE_ID",),
    "table": (RANK_TABLE_FILE,),
    "master_addr": ("MASTER_ADDR",),
    "master_port": ("MASTER_PORT",),
}
"""Field of WorkerEnv -> every variable that carries it."""

MISLEADING = (
    "MINDSPORE_HCCL_CONFIG_PATH",  # beats RANK_TABLE_FILE
    VISIBLE_DEVICES,  # renumbers the cards under DEVICE_ID
    "ASCEND_DEVICE_ID",
    "MS_ROLE",  # leftovers of msrun make MindSpore wait for a scheduler
    "MS_WORKER_NUM",
    "MS_SCHED_HOST",
    "MS_SCHED_PORT",
    "MS_NODE_ID",
    "OMPI_COMMAND",  # in a shell under mpirun, these two make MindSpore start MPI
    "PMIX_RANK",
    "TORCHELASTIC_USE_AGENT_STORE",  # in a shell under torchrun, makes rank 0 wait for an agent to listen
)
"""Variables that a launcher of ours unsets, because they would override what it sets."""


@dataclass(frozen=True, slots=True)
class WorkerEnv:
    """What one worker process is told.

    `table` is None where the way of starting needs none (mpirun, torch); `master_addr` and `master_port` are None where
    they are the framework's own matter (msrun). A plan leaves None what is found when the job starts: a free port of
    that machine, and the path of the table there.
    """

    rank: int
    size: int
    local_rank: int
    local_size: int
    device: int
    master_addr: str | None = None
    master_port: int | None = None
    table: str | None = None

    def __post_init__(self) -> None:
        """Refuse values that no launcher can mean."""
        if not 0 <= self.rank < self.size:
            raise KitError(f"rank {self.rank} is outside 0..{self.size - 1}")
        if not 0 <= self.local_rank < self.local_size <= self.size:
            raise KitError(f"local rank {self.local_rank} of {self.local_size} does not fit a job of {self.size}")
        if self.device < 0:
            raise KitError(f"device {self.device} is negative")
        if self.master_port is not None and not 1 <= self.master_port <= 65535:
            raise KitError(f"master port {self.master_port} is outside 1..65535")

    def to_environ(self) -> dict[str, str]:
        """The variables of this worker, for both frameworks."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: str(value) for key, value in values.items() if value is not None for name in NAMES[key]}

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> WorkerEnv:
        """Read back what `to_environ` wrote. Law: `from_environ(e.to_environ()) == e`.

        KitError where a variable is missing, is no number, or where the two names of one field disagree.
        """
        has_port = bool(environ.get("MASTER_PORT"))
        return cls(
            rank=integer(environ, "rank"),
            size=integer(environ, "size"),
            local_rank=integer(environ, "local_rank"),
            local_size=integer(environ, "local_size"),
            device=integer(environ, "device"),
            master_addr=environ.get("MASTER_ADDR") or None,
            master_port=integer(environ, "master_port") if has_port else None,
            table=environ.get(RANK_TABLE_FILE) or None,
        )


def consistent(environ: Mapping[str, str], names: tuple[str, ...]) -> str:
    """The one value that those of `names` which are set agree on; KitError otherwise."""
    found = {name: environ[name] for name in names if environ.get(name)}
    if not found:
        raise KitError(f"{' or '.join(names)} is not set")
    if len(set(found.values())) > 1:
        shown = " but ".join(f"{name}={value}" for name, value in found.items())
        raise KitError(f"the environment contradicts itself: {shown}", hint="unset the one that is left over")
    return next(iter(found.values()))


def integer(environ: Mapping[str, str], key: str) -> int:
    """The field `key` of WorkerEnv as a number. Raises KitError if its variable is missing or not an integer."""
    return parse_integer("/".join(NAMES[key]), consistent(environ, NAMES[key]))
