"""The mpirun launcher, for Open MPI 4 or 5: a page of bash and its hostfile.

MindSpore reads the variables of Open MPI, which a rank table would contradict, so its own are unset on every node.
Torch does not read them, so its variables are made of them there. The hosts are mapped slot by slot, which gives each
node the ranks of the plan, whatever its size. Each rank sees the cards of its node, and takes that of its local rank.
"""

from __future__ import annotations

import textwrap
from itertools import accumulate

from hccl_kit.launch.emitters import servers
from hccl_kit.launch.files import EXECUTABLE, LaunchFile, TableFile
from hccl_kit.launch.passed_on import PATTERNS
from hccl_kit.launch.plan import LaunchPlan
from hccl_kit.launch.shell import fragment, set_unless_set, word, words, wrapped
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

(_PORT,) = NAMES["master_port"]

OF_THE_RANKS = tuple(name for name in MISLEADING if name.startswith(("OMPI_", "PMIX_")))
"""Variables of MISLEADING from which, under mpirun, MindSpore and MPI read their rank."""


def emit(plan: LaunchPlan, table: TableFile) -> tuple[LaunchFile, ...]:
    """The script and its hostfile, of a plan that has passed the rules HK5.

    The script names the rank table, but the job does not read it.
    """
    name, hosts = f"mpirun{plan.size}p.sh", f"mpirun{plan.size}p.hosts"
    several = len(plan.nodes) > 1
    lines = [
        *_header(plan, table, name, hosts),
        *fragment("common/begin"),
        *(_asked() if several else []),
        f'hk_command=({words(plan.command)} "$@")',
        f"hk_hosts={hosts}",
        *fragment("mpirun/check"),
        f'hk_options=(--hostfile "$hk_hosts" -n {plan.size} --map-by slot --bind-to none)',
        *([f"hk_first={word(plan.nodes[0].address)}", *fragment("mpirun/several_hosts")] if several else []),
        *_here(plan),
        *([*_patterns(), *fragment("mpirun/variables")] if several else []),
        *_rank(plan),
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
            "# the current folder. The table below says which variables of this shell programs there get; others, and",
            "# secrets such as HF_TOKEN, only by --export.",
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


def _asked() -> list[str]:
    return [
        "hk_asked='' # by --export",
        "case ${1:-} in",
        "    --export) hk_asked=${2:-} && shift $(($# > 1 ? 2 : 1)) ;;",
        "    --export=*) hk_asked=${1#*=} && shift ;;",
        "esac",
        "[[ ${1:-} != -- ]] || shift",
    ]


def _here(plan: LaunchPlan) -> list[str]:
    """What is right on this host only: its cards, and the port of rank 0."""
    cards = visible_list(plan.nodes[0].devices)
    given = [(_PORT, str(plan.master_port))] if plan.master_port else []
    return [
        "",
        f"[[ ${{{VISIBLE_DEVICES}-{cards}}} == {cards} ]] ||",
        f'    hk_fail "error: {VISIBLE_DEVICES}=${VISIBLE_DEVICES}; the cards of this job are {cards}"',
        " ".join(["unset -v", *OF_THE_RANKS]),
        *set_unless_set([*plan.variables_of_hccl, *given]),
        *servers.free_port(),
    ]


def _patterns() -> list[str]:
    lines = ["", "# Which variables go to the other hosts, as patterns of names."]
    for name, patterns in PATTERNS.items():
        text = textwrap.fill(" ".join(patterns), 112, break_on_hyphens=False).replace(" ", "|").replace("\n", "|\\\n")
        lines += [f'hk_{name}="@(\\', f'{text})"']
    return lines


def _rank(plan: LaunchPlan) -> list[str]:
    """What the shell of each rank does before the command, which `mpirun/run` passes to it."""
    contract = [name for names in NAMES.values() for name in names]
    leftovers = [name for name in MISLEADING if name not in OF_THE_RANKS]
    unset = wrapped(" ".join(["unset -v", *leftovers, *contract, RUN_ID, LOG_DIR, RESTART]), 108)
    largest = max((node.devices for node in plan.nodes), key=len)  # smaller nodes use the first of these
    starts = accumulate((len(node.devices) for node in plan.nodes[:-1]), initial=0)
    one = len(plan.nodes) == 1
    number = [
        f"    for hk_first in {wrapped(' '.join(map(str, starts)), 100)}; do # the first ranks of the hosts",
        "        ((OMPI_COMM_WORLD_RANK < hk_first)) || hk_node=$((hk_node + 1))",
        "    done",
    ]
    values = {
        "rank": '"$OMPI_COMM_WORLD_RANK"',
        "size": '"$OMPI_COMM_WORLD_SIZE"',
        "local_rank": '"$OMPI_COMM_WORLD_LOCAL_RANK"',
        "local_size": '"$hk_ranks"',
        "master_addr": word(plan.master),
        "master_port": '"$2"',
        "node": '"$hk_node"',
        "run": '"$3"',
        "visible": '"${hk_visible:1}"',
    }
    exported = [
        f"{name}={value}" for field, value in values.items() for name in NAMES[field] if name not in OF_MINDSPORE
    ]
    return [
        "",
        "hk_rank() { # FOLDER PORT RUN COMMAND ...: of each rank, on its host, with the variables of Open MPI",
        '    cd -- "$1" || { echo "error: folder not found on $HOSTNAME" >&2; exit 2; }',
        f"    hk_cards=({' '.join(map(str, largest))}) hk_ranks=$OMPI_COMM_WORLD_LOCAL_SIZE hk_node={0 if one else -1}",
        *([] if one else number),
        "    printf -v hk_visible ',%s' \"${hk_cards[@]:0:hk_ranks}\"",
        "    " + unset.replace("\n", "\n    "),
        "    " + wrapped(" ".join(["export", *exported]), 108).replace("\n", "\n    "),
        f'    export {THREADS}="${{{THREADS}:-$(($(nproc) > hk_ranks ? $(nproc) / hk_ranks : 1))}}"',
        "    hk_start=(--) # or a rank would outlive its mpirun, or the daemon of its host, if that is killed",
        "    ! setpriv --pdeathsig KILL true 2>/dev/null || hk_start=(-- setpriv --pdeathsig KILL --)",
        "    shift 3",
        '    exec "${hk_start[@]}" "$@"',
        "}",
    ]
