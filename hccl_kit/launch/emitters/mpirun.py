"""The way out by mpirun of Open MPI 4 or 5: a script and its hostfile.

Ranks read Open MPI's own variables; a rank table would contradict them, so every name of the contract is unset on every
node. The hosts are mapped slot by slot, which puts on each node the ranks that the plan gives it, also where nodes
differ in size.
"""

from __future__ import annotations

from hccl_kit.launch.files import EXECUTABLE, LaunchFile, TableFile
from hccl_kit.launch.plan import LaunchPlan
from hccl_kit.launch.shell import export, fragment, word, words, wrapped
from hccl_kit.runtime.worker_env import LOG_DIR, MISLEADING, NAMES, RESTART, RUN_ID, VISIBLE_DEVICES

OF_THE_RANKS = ("OMPI_COMMAND", "PMIX_RANK")
"""Misleading elsewhere; under mpirun these tell MindSpore and MPI who they are."""


def emit(plan: LaunchPlan, table: TableFile) -> tuple[LaunchFile, ...]:
    """The script, and the hostfile that lies beside it; the plan is one that rules HK5 let pass.

    The rank table is named in the script, but the job does not read it.
    """
    hosts = f"mpirun{plan.size}p.hosts"
    lines = [
        *_header(plan, table, hosts),
        *fragment("bash/start"),
        *_job(plan, hosts),
        *fragment("mpirun/find_mpirun"),
        *_options(plan),
        *(fragment("mpirun/several_hosts") if len(plan.nodes) > 1 else []),
        *fragment("mpirun/run"),
    ]
    return (
        LaunchFile(f"mpirun{plan.size}p.sh", "\n".join(lines) + "\n", EXECUTABLE),
        LaunchFile(hosts, _hostfile(plan)),
    )


def visible(devices: tuple[int, ...]) -> str | None:
    """The value of VISIBLE_DEVICES under which local rank i has device i of `devices`; None where it needs none."""
    return None if devices == tuple(range(len(devices))) else ",".join(map(str, devices))


def _hostfile(plan: LaunchPlan) -> str:
    """One line a node, in the order of the ranks; slots that are written down need no --oversubscribe."""
    if len(plan.nodes) == 1:
        return f"localhost slots={plan.size}\n"
    return "".join(f"{node.address} slots={len(node.workers)}\n" for node in plan.nodes)


def _header(plan: LaunchPlan, table: TableFile, hosts: str) -> list[str]:
    where, more = "this host", []
    if len(plan.nodes) > 1:
        where = f"{len(plan.nodes)} hosts"
        more = [
            f"# Start it on {plan.nodes[0].address}, which must reach the others by ssh without a password.",
            "# The current folder must be the same on all.",
        ]
    return [
        "#!/usr/bin/env bash",
        f"# Starts ranks 0 to {plan.size - 1} on {where} by mpirun of Open MPI 4 or 5. Written by hccl_kit.",
        "#",
        f"#   bash mpirun{plan.size}p.sh [ARGUMENT ...]      the arguments are added to the command below",
        "#",
        f"# The hosts are in {hosts} beside this script, in the order of their ranks.",
        *more,
        f"# Made from the rank table with sha256 {table.sha256};",
        "# the job does not read it: under mpirun a rank table must not be set.",
        "# The exit code is mpirun's: that of the rank that failed first, 128 + signal where one killed it. 2 could",
        "# not start, 130 Ctrl-C, 143 SIGTERM, 129 SIGHUP. Needs bash 4.3, coreutils and util-linux.",
    ]


def _job(plan: LaunchPlan, hosts: str) -> list[str]:
    """The command and what a node does before it runs it; the latter as text for the shells of the nodes."""
    shown = visible(max((node.devices for node in plan.nodes), key=len))  # smaller nodes use the first of these
    leftovers = [name for name in MISLEADING if name not in OF_THE_RANKS]
    contract = [name for names in NAMES.values() for name in names]
    return [
        "",
        f"command=({words(plan.command)})",
        f"hostfile_name={word(hosts)}",
        "# Left over from other ways of starting, these would override what mpirun sets.",
        wrapped(" ".join(["unset -v", *MISLEADING])),
        "# The same on every node, whatever its shells set.",
        f"prepare={word(wrapped(' '.join(['unset -v', *leftovers, *contract, RUN_ID, LOG_DIR, RESTART])))}",
        *([f"prepare+=$'\\n'{word(f'export {VISIBLE_DEVICES}={shown}')} # local rank 0, 1, ..."] if shown else []),
        *([f"prepare+=$'\\n'{word(export('master_addr', word(plan.master)))}"] if len(plan.nodes) > 1 else []),
    ]


def _options(plan: LaunchPlan) -> list[str]:
    return ["", f'options=(--hostfile "$hostfile" -n {plan.size} --map-by slot --bind-to none)']
