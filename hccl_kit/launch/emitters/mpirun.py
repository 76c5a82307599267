"""The mpirun launcher, for Open MPI 4 or 5: a page of bash and its hostfile.

MindSpore reads the variables of Open MPI, which a rank table would contradict, so its own are unset on every node.
Torch does not read them, so its variables are made of them there. The hosts are mapped slot by slot, which gives each
node the ranks of the plan, whatever its size. Each rank sees the cards of its node, and takes that of its local rank.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

from hccl_kit.launch.emitters import servers
from hccl_kit.launch.files import EXECUTABLE, LaunchFile, TableFile
from hccl_kit.launch.passed_on import KEPT, PASSED_ON, SECRET_WORDS
from hccl_kit.launch.plan import LaunchPlan
from hccl_kit.launch.shell import alternatives, fragment, set_unless_set, word, words, wrapped
from hccl_kit.runtime.worker_env import (
    LOG_DIR,
    MISLEADING,
    NAMES,
    OF_MINDSPORE,
    RESTART,
    RUN_ID,
    visible_list,
)

OF_THE_RANKS = tuple(name for name in MISLEADING if name.startswith(("OMPI_", "PMIX_")))
"""Variables of MISLEADING from which, under mpirun, MindSpore and MPI read their rank."""
_UNSET = (
    *(name for name in MISLEADING if name not in OF_THE_RANKS),
    *(name for field, names in NAMES.items() if field != "master_port" for name in names),
    *(RUN_ID, LOG_DIR, RESTART),
)
"""What a rank must not get, from this host or from a profile of its own."""


def emit(plan: LaunchPlan, table: TableFile) -> tuple[LaunchFile, ...]:
    """The script and its hostfile, of a plan that has passed the rules HK5.

    The script names the rank table, but the job does not read it.
    """
    name, hosts = f"mpirun{plan.size}p.sh", f"mpirun{plan.size}p.hosts"
    lines = ["#!/usr/bin/env bash", *_script(plan, table, name, hosts)]
    return (
        LaunchFile(name, "\n".join(lines) + "\n", EXECUTABLE),
        LaunchFile(hosts, _hostfile(plan)),
    )


def _hostfile(plan: LaunchPlan) -> str:
    """One line per node, in the order of the ranks; explicit slots make --oversubscribe unnecessary."""
    if len(plan.nodes) == 1:
        return f"localhost slots={plan.size}\n"
    return "".join(f"{node.address} slots={len(node.workers)}\n" for node in plan.nodes)


def _script(plan: LaunchPlan, table: TableFile, name: str, hosts: str) -> Iterator[str]:
    several = len(plan.nodes) > 1
    first = plan.nodes[0]
    largest = max((node.devices for node in plan.nodes), key=len)  # smaller nodes use the first of these
    more = [
        f"# Start it on {first.address}, which must reach the others by ssh without a password. All have",
        "# the current folder, and get variables of this shell by the list below; others only by --export.",
    ]
    return fragment(
        "mpirun/script",
        last=str(plan.size - 1),
        where=f"{len(plan.nodes)} hosts" if several else "this host",
        name=name,
        option="[--export NAME,...] [--] " if several else "",
        hosts=hosts,
        more=more if several else [],
        digest=table.sha256,
        begin=fragment("common/begin"),
        export=fragment("mpirun/export") if several else [],
        command=words(plan.command),
        size=str(plan.size),
        ssh=fragment("mpirun/ssh") if several else [],
        cards=visible_list(first.devices),  # these are right on this host only, as is the port of rank 0
        of_the_ranks=" ".join(OF_THE_RANKS),
        variables=set_unless_set(plan.variables),
        port=servers.port(),
        passed_on=_passed_on() if several else [],
        node="-1" if several else "0",
        next_nodes=_next_nodes(plan) if several else [],
        largest=",".join(map(str, largest)),
        unset=wrapped(" ".join(["unset -v", *_UNSET]), 108),
        of_rank=_of_rank(plan, table),
    )


def _passed_on() -> Iterator[str]:
    """Pass variables of this shell on to the other hosts."""
    kept = alternatives(name for name in KEPT if name not in _UNSET)
    secret = alternatives(SECRET_WORDS)
    return fragment("mpirun/variables", passed_on=alternatives(PASSED_ON), kept=kept, secret=secret)


def _next_nodes(plan: LaunchPlan) -> str:
    """Count hk_node up for each node whose first rank is not above this one."""
    starts = accumulate((len(node.devices) for node in plan.nodes[:-1]), initial=0)
    firsts = wrapped(" ".join(map(str, starts)), 108)
    return f"for hk_first in {firsts}; do ((OMPI_COMM_WORLD_RANK < hk_first || ++hk_node)); done"


def _of_rank(plan: LaunchPlan, table: TableFile) -> str:
    """Export the variables of a rank; MindSpore reads those of Open MPI."""
    values = {
        "rank": "$OMPI_COMM_WORLD_RANK",
        "size": "$OMPI_COMM_WORLD_SIZE",
        "local_rank": "$OMPI_COMM_WORLD_LOCAL_RANK",
        "local_size": "$hk_ranks",
        "master_addr": word(plan.master),
        "node": "$hk_node",
        "run": table.sha256[:8],
        "visible": "$hk_visible",
    }
    exported = [
        f"{name}={value}" for field, value in values.items() for name in NAMES[field] if name not in OF_MINDSPORE
    ]
    return wrapped(" ".join(["export", *exported]), 108)
