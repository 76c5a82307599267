"""The way out by msrun, MindSpore's own launcher: one script for all nodes, each of which runs it.

msrun gives DEVICE_ID the local index and reads no rank table, so every name of the contract is unset, and cards that
are not 0, 1, ... are made so by VISIBLE_DEVICES. The script mends what msrun does badly when a job ends: it has no exit
code of the rank, waits 30 s for its scheduler and for the ranks of another host, and leaves workers to live on when
it is killed.
"""

from __future__ import annotations

from hccl_kit.launch.emitters import servers
from hccl_kit.launch.emitters.mpirun import visible
from hccl_kit.launch.files import EXECUTABLE, LaunchFile, TableFile
from hccl_kit.launch.plan import LaunchPlan
from hccl_kit.launch.secret_file import SUFFIX
from hccl_kit.launch.shell import fragment, source, word, words, wrapped
from hccl_kit.runtime.worker_env import KEY_FILE, LOG_DIR, MISLEADING, NAMES, RESTART, RUN_ID, SERVER, VISIBLE_DEVICES

(_PORT,) = NAMES["master_port"]


def emit(plan: LaunchPlan, table: TableFile) -> tuple[LaunchFile, ...]:
    """The script; the plan is one that rules HK5 let pass.

    By the digest of the rank table the nodes see whether they are of one job, which does not read it otherwise.
    """
    lines = [
        *_header(plan, table),
        *fragment("bash/start"),
        *_job(plan),
        *fragment("msrun/options"),
        *fragment("bash/port"),
        *(_nodes(plan, table) if len(plan.nodes) > 1 else _one_node(plan)),
        *fragment("ranks/notes"),
        *fragment("ranks/signals"),
        *fragment("msrun/meet"),
        *_environment(),
        *fragment("msrun/guard"),
        *fragment("msrun/end"),
        *fragment("msrun/main"),
    ]
    return (LaunchFile(f"msrun{plan.size}p.sh", "\n".join(lines) + "\n", EXECUTABLE),)


def _header(plan: LaunchPlan, table: TableFile) -> list[str]:
    more: list[str] = []
    where = "this host"
    if len(plan.nodes) > 1:
        where = f"{len(plan.nodes)} hosts"
        more = [
            "#",
            "# Run it on every host, within 600 s. --server ID in front of the arguments, or",
            f"# {SERVER}=ID, says which server of the rank table this one is, where its addresses do not tell.",
            f"# The secret of the job lies beside it on every server, msrun{plan.size}p.sh{SUFFIX} of mode 600;",
            f"# {KEY_FILE}=FILE names another.",
        ]
    return [
        "#!/usr/bin/env bash",
        f"# Starts ranks 0 to {plan.size - 1} on {where} by msrun of MindSpore. Written by hccl_kit.",
        "#",
        f"#   bash msrun{plan.size}p.sh [ARGUMENT ...]      the arguments are added to the command below",
        *more,
        "#",
        f"# Made from the rank table with sha256 {table.sha256};",
        "# the job does not read it: under msrun a rank table must not be set.",
        "# Logs go to hccl_logs/RUN/worker_N.log in the current folder, those of msrun beside them. The first rank of",
        f"# this host is shown. {_PORT} is kept where rank 0 runs and it is set, else a free port is taken.",
        "# The first rank that fails ends the job, on all hosts: its traceback comes last on its own, its exit code",
        "# (128 + signal) is the script's everywhere. Otherwise 0 is success, 2 could not start, 130 Ctrl-C,",
        "# 143 SIGTERM, 129 SIGHUP, 137 the guard of the ranks was killed.",
        "# Needs bash 4.3, coreutils, grep, iproute2, python 3.8 and util-linux.",
    ]


def _job(plan: LaunchPlan) -> list[str]:
    return [
        "",
        f"command=({words(plan.command)})",
        f"size={plan.size}",
        f"port_name={_PORT}",
        f"server=${{{SERVER}:-}}",
        "# shellcheck disable=SC2016  # a program in Python",
        f"worker={word(source('msrun_worker'))}",
    ]


def _one_node(plan: LaunchPlan) -> list[str]:
    (node,) = plan.nodes
    return [
        "",
        f"node=0 servers=({word(node.id)}) master={word(plan.master)}",
        "server_name=${servers[0]}",
        f"ranks=({' '.join(map(str, node.ranks))})",
        f"devices=({' '.join(map(str, node.devices))})",
        f'visible="{visible(node.devices) or ""}"',
        *fragment("bash/alone"),
        "find_python 6",
    ]


def _nodes(plan: LaunchPlan, table: TableFile) -> list[str]:
    """What tells the nodes apart, and how they hear of each other's end."""
    seen = [visible(node.devices) or "" for node in plan.nodes]
    return [
        "",
        f"table_sha256={table.sha256} attempt=0 last_code='' given_up='' lifeline='' # it is not started again",
        *servers.described(plan),
        *("all_visible=(", *(f'    "{value}"' for value in seen), ")"),  # a comma without quotes looks like a mistake
        *servers.linked(plan, table),
        "",
        "find_python 8",
        "need_python",
        "find_server",
        'read -ra ranks <<<"${all_ranks[node]}"',
        'read -ra devices <<<"${all_devices[node]}"',
        "visible=${all_visible[node]}",
    ]


def _environment() -> list[str]:
    contract = [name for names in NAMES.values() for name in names]
    return [
        "",
        "# Left over from other ways of starting, these would override what msrun sets.",
        wrapped(" ".join(["unset -v", *MISLEADING, *contract, RUN_ID, RESTART, SERVER])),
        f'[[ -z $visible ]] || export {VISIBLE_DEVICES}="$visible" # msrun counts devices from 0 on',
        f"mark={LOG_DIR}=$logs # in the environment of msrun and of all that it starts, of nobody else",
    ]
