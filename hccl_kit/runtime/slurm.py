"""A rank that plain srun started, without any script of ours: Slurm's variables say who it is and where rank 0 runs.

The variables of a step are read, not those of the job: in a batch script itself the latter are set too, and a step may
be smaller than its job.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from hccl_kit.base import hostlist
from hccl_kit.base.errors import KitError, ParseError
from hccl_kit.base.integer import environ_integer
from hccl_kit.base.network import LOOPBACK, derived_port
from hccl_kit.runtime.worker_env import NAMES, WorkerEnv, integer

SIGN = ("SLURM_STEP_ID", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS")
"""Set in the tasks of a step only."""
OTHER_SIZES = (*NAMES["size"], "PMI_SIZE")
"""Where others say how many ranks there are, such as the mpirun of MPICH, which starts one helper a node by srun."""

_COUNT = re.compile(r"([0-9]{1,9})(?:\(x([0-9]{1,9})\))?")


def read(environ: Mapping[str, str]) -> WorkerEnv:
    """This task as a rank; the card is its number on the node. MASTER_ADDR and MASTER_PORT are kept where they are set.

    KitError where a variable is missing or cannot be meant, and where another says that the job is larger or smaller.
    """
    size = environ_integer(environ, "SLURM_STEP_NUM_TASKS")
    for name in OTHER_SIZES:
        if environ.get(name) and environ[name] != str(size):
            raise KitError(
                f"the environment contradicts itself: {name}={environ[name]}, but srun started {size} tasks",
                hint=f"unset {name}, or say who started this program: --launcher",
            )
    if size == 1:  # also a shell that srun --pty has opened
        return WorkerEnv(rank=0, size=1, local_rank=0, local_size=1, device=0)
    nodes = _nodes(environ)
    counts = tasks_of_nodes(environ.get("SLURM_STEP_TASKS_PER_NODE", ""))
    node, local_rank = environ_integer(environ, "SLURM_NODEID"), environ_integer(environ, "SLURM_LOCALID")
    if sum(counts) != size or len(counts) != len(nodes) or node >= len(nodes):
        raise KitError(
            f"SLURM_STEP_TASKS_PER_NODE={environ['SLURM_STEP_TASKS_PER_NODE']} does not fit {size} tasks, "
            f"{len(nodes)} nodes and SLURM_NODEID={node}"
        )
    master = environ.get("MASTER_ADDR") or (LOOPBACK if len(nodes) == 1 else nodes[0])
    if environ.get("SLURM_DISTRIBUTION") == "arbitrary" and not environ.get("MASTER_ADDR"):
        raise KitError("with -m arbitrary, rank 0 may be on any node", hint="export MASTER_ADDR=<the host of rank 0>")
    return WorkerEnv(
        rank=environ_integer(environ, "SLURM_PROCID"),
        size=size,
        local_rank=local_rank,
        local_size=counts[node],
        device=local_rank,
        master_addr=master,
        master_port=integer(environ, "master_port") if environ.get("MASTER_PORT") else _port(environ),
    )


def _nodes(environ: Mapping[str, str]) -> tuple[str, ...]:
    name = "SLURM_STEP_NODELIST" if environ.get("SLURM_STEP_NODELIST") else "SLURM_JOB_NODELIST"
    try:
        return hostlist.expand(environ.get(name, ""))
    except ParseError as error:
        raise KitError(f"{name}={environ.get(name, '')[:80]!r}: {error.message}") from error


def tasks_of_nodes(text: str) -> tuple[int, ...]:
    """How many tasks each node of a step has, from Slurm's short form: "2(x3),1" is 2, 2, 2, 1."""
    counts: list[int] = []
    for part in text.split(","):
        match = _COUNT.fullmatch(part)
        times = int(match[2] or 1) if match else 0
        if match is None or not 0 < times <= hostlist.MAX_HOSTS - len(counts):
            raise KitError(f'SLURM_STEP_TASKS_PER_NODE={text[:80]!r} is no list of counts; accepted: "2(x3),1"')
        counts += [int(match[1])] * times
    return tuple(counts)


def _port(environ: Mapping[str, str]) -> int:
    """The port on which rank 0 listens: all tasks of a step derive the same one, other steps another."""
    return derived_port(31 * environ_integer(environ, "SLURM_JOB_ID") + environ_integer(environ, "SLURM_STEP_ID"))
