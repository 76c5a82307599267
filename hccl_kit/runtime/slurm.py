"""A rank that plain srun started: Slurm's variables give its rank and the host of rank 0.

The variables of the step are read, not those of the job: in a batch script the latter are set too, and a step may
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
"""Only set in the tasks of a step."""
OTHER_SIZES = (*NAMES["size"], "PMI_SIZE")
"""Other numbers of ranks, such as that of MPICH's mpirun, which starts one helper per node with srun."""

_COUNT = re.compile(r"([0-9]{1,9})(?:\(x([0-9]{1,9})\))?")


def read(environ: Mapping[str, str]) -> WorkerEnv:
    """This task as a rank; the card is its local id on the node. MASTER_ADDR and MASTER_PORT are used if they are set.

    Raises KitError if a variable is missing or not valid, or if another variable has a different number of ranks.
    """
    size = environ_integer(environ, "SLURM_STEP_NUM_TASKS")
    for name in OTHER_SIZES:
        if environ.get(name) and environ[name] != str(size):
            raise KitError(
                "runtime.srun-size",
                "the environment contradicts itself: {variable}={value}, but srun started {size} tasks",
                fix="unset {variable}, or name the launcher: --launcher",
                variable=name,
                value=environ[name],
                size=size,
            )
    if size == 1:  # also a shell that srun --pty has opened
        return WorkerEnv(rank=0, size=1, local_rank=0, local_size=1, device=0)
    nodes = _nodes(environ)
    counts = tasks_of_nodes(environ.get("SLURM_STEP_TASKS_PER_NODE", ""))
    node, local_rank = environ_integer(environ, "SLURM_NODEID"), environ_integer(environ, "SLURM_LOCALID")
    if sum(counts) != size or len(counts) != len(nodes) or node >= len(nodes):
        raise KitError(
            "runtime.srun-tasks",
            "SLURM_STEP_TASKS_PER_NODE={counts} does not fit {size} tasks, {nodes} nodes and SLURM_NODEID={node}",
            counts=environ["SLURM_STEP_TASKS_PER_NODE"],
            size=size,
            nodes=len(nodes),
            node=node,
        )
    master = environ.get("MASTER_ADDR") or (LOOPBACK if len(nodes) == 1 else nodes[0])
    if environ.get("SLURM_DISTRIBUTION") == "arbitrary" and not environ.get("MASTER_ADDR"):
        raise KitError(
            "runtime.srun-arbitrary",
            "with -m arbitrary, rank 0 may be on any node",
            fix="export MASTER_ADDR=<the host of rank 0>",
        )
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
        raise KitError(
            "runtime.srun-nodes",
            "{variable}={value!r}: {reason}",
            variable=name,
            value=environ.get(name, "")[:80],
            reason=error.message,
        ) from error


def tasks_of_nodes(text: str) -> tuple[int, ...]:
    """The number of tasks of each node, from Slurm's short form: "2(x3),1" is 2, 2, 2, 1."""
    counts: list[int] = []
    for part in text.split(","):
        match = _COUNT.fullmatch(part)
        times = int(match[2] or 1) if match else 0
        if match is None or not 0 < times <= hostlist.MAX_HOSTS - len(counts):
            raise KitError(
                "runtime.srun-counts",
                'SLURM_STEP_TASKS_PER_NODE={text!r} is not a list of counts; accepted: "2(x3),1"',
                text=text[:80],
            )
        counts += [int(match[1])] * times
    return tuple(counts)


def _port(environ: Mapping[str, str]) -> int:
    """The port on which rank 0 listens: all tasks of a step derive the same one, other steps another."""
    return derived_port(31 * environ_integer(environ, "SLURM_JOB_ID") + environ_integer(environ, "SLURM_STEP_ID"))
