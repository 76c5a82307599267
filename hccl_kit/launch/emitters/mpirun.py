"""The mpirun launcher, for Open MPI 4 or 5: a page of bash and its hostfile.

MindSpore reads the variables of Open MPI, which a rank table would contradict, so its own are unset on every node.
Torch does not read them, so its variables are made of them there. The hosts are mapped slot by slot, which gives each
node the ranks of the plan, whatever its size. Each rank sees the cards of its node, and takes that of its local rank.
"""

from __future__ import annotations

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
    THREADS,
    VISIBLE_DEVICES,
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
    several = len(plan.nodes) > 1
    lines = [
        *_header(plan, table, name, hosts),
        "",
        *fragment("common/begin"),
        *(fragment("mpirun/export") if several else []),
        f'hk_command=({words(plan.command)} "$@")',
        f'hk_hosts=$(dirname -- "$0")/{hosts}',
        *fragment("mpirun/check"),
        f'hk_options=(--hostfile "$hk_hosts" -n {plan.size} --map-by slot --bind-to none)',
        *(fragment("mpirun/ssh") if several else []),
        *_here(plan),
        *([*_patterns(), *fragment("mpirun/variables")] if several else []),
        "",
        *_rank(plan, table),
        *fragment("mpirun/run"),
    ]
    return (
        LaunchFile(name, "\n".join(lines) + "\n", EXECUTABLE),
        LaunchFile(hosts, _hostfile(plan)),
    )


def _hostfile(plan: LaunchPlan) -> str:
    """One line per node, in the order of the ranks; explicit slots make --oversubscribe unnecessary."""
    if len(plan.nodes) == 1:
        return f"localhost slots={plan.size}\n"
    return "".join(f"{node.address} slots={len(node.workers)}\n" for node in plan.nodes)


def _header(plan: LaunchPlan, table: TableFile, name: str, hosts: str) -> list[str]:
    where, option, more = "this host", "", []
    if len(plan.nodes) > 1:
        where = f"{len(plan.nodes)} hosts"
        option = "[--export NAME,...] [--] "
        more = [
            f"# Start it on {plan.nodes[0].address}, which must reach the others by ssh without a password. All have",
            "# the current folder, and get variables of this shell by the list below; others only by --export.",
        ]
    return [
        "#!/usr/bin/env bash",
        f"# Starts ranks 0 to {plan.size - 1} on {where} with mpirun of Open MPI. It is meant to be read and edited.",
        f"#   bash {name} {option}[ARGUMENT ...]     arguments are added to the command",
        f"# The hosts are in {hosts} next to this script, in the order of their ranks.",
        *more,
        "# The exit code is that of mpirun: the code of the rank that failed first (128 + signal if one killed it).",
        "# 2: nothing started, 130: Ctrl-C, 143: SIGTERM, 129: SIGHUP.",
        f"# Made from the rank table with sha256 {table.sha256},",
        "# which the job does not read: under mpirun a rank table must not be set.",
    ]


def _here(plan: LaunchPlan) -> list[str]:
    """What is right on this host only: its cards, and the port of rank 0, which the others get from here."""
    cards = visible_list(plan.nodes[0].devices)
    return [
        f"[[ ${{{VISIBLE_DEVICES}-{cards}}} == {cards} ]] ||",
        f'    hk_fail "error: {VISIBLE_DEVICES}=${VISIBLE_DEVICES}; the cards of this job are {cards}"',
        " ".join(["unset -v", *OF_THE_RANKS]),
        *set_unless_set(plan.variables),
        f"export {servers.port()}",
    ]


def _patterns() -> list[str]:
    return [
        "# Variables that go to the other hosts, as patterns of names, and which of these do so by --export only.",
        f'hk_passed_on="@(\\\n{alternatives(PASSED_ON)})"',
        f'hk_kept="@(\\\n{alternatives(name for name in KEPT if name not in _UNSET)})"',
        f'hk_secret="*@({alternatives(SECRET_WORDS)})?(S)?([_0-9]*)"',
    ]


def _rank(plan: LaunchPlan, table: TableFile) -> list[str]:
    """What the shell of each rank does before the command, which `mpirun/run` passes to it."""
    largest = max((node.devices for node in plan.nodes), key=len)  # smaller nodes use the first of these
    several = len(plan.nodes) > 1
    starts = accumulate((len(node.devices) for node in plan.nodes[:-1]), initial=0)
    loop = f"for hk_first in {wrapped(' '.join(map(str, starts)), indent='    ')}; do"
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
    return [
        "hk_rank() { # FOLDER COMMAND ...: of each rank, on its host, with the variables of Open MPI",
        '    cd -- "$1" || { echo "error: folder not found on $HOSTNAME" >&2; exit 2; }',
        f"    hk_ranks=$OMPI_COMM_WORLD_LOCAL_SIZE hk_node={-1 if several else 0}",
        *([f"    {loop} ((OMPI_COMM_WORLD_RANK < hk_first || ++hk_node)); done"] if several else []),
        f'    hk_visible=$(cut -d , -f "1-$hk_ranks" <<<{",".join(map(str, largest))})',
        "    " + wrapped(" ".join(["unset -v", *_UNSET]), indent="    "),
        "    " + wrapped(" ".join(["export", *exported]), indent="    "),
        f'    export {THREADS}="${{{THREADS}:-$(($(nproc) > hk_ranks ? $(nproc) / hk_ranks : 1))}}"',
        "    # A rank would outlive its mpirun, or the daemon of its host, if that is killed.",
        '    ! setpriv --pdeathsig KILL true 2>/dev/null || exec setpriv --pdeathsig KILL -- "${@:2}"',
        '    exec -- "${@:2}"',
        "}",
    ]
