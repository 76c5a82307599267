"""The launch script of one server: a bash program that needs nothing of ours.

Pure: from a plan to the whole text. What depends on the job is written line by line, every word of it through one
gate (`_word`). The rest is the fixed text of `bash_parts`, which uses shell variables only, no name of the contract.
"""

from __future__ import annotations

from hccl_kit.launch import bash_parts
from hccl_kit.launch.files import TableFile
from hccl_kit.launch.plan import LaunchPlan
from hccl_kit.launch.shell import export, section, word, words, wrapped
from hccl_kit.loopback import LOOPBACK
from hccl_kit.worker_env import LOG_DIR, MISLEADING, NAMES, RUN_ID

(_PORT,) = NAMES["master_port"]


def script(plan: LaunchPlan, table: TableFile) -> str:
    """The whole text of the script that starts `plan`.

    The rank table lies beside the script, which asks for its SHA-256 before it starts anything. KitError where the
    name of the table is a path.
    """
    table.assert_is_name()
    lines = [
        *_header(plan),
        *section(bash_parts.START),
        *_job(plan, table),
        *section(bash_parts.CHECK_TABLE),
        *section(bash_parts.FREE_PORT),
        f"choose_port {_PORT}",
        *section(bash_parts.LOGS),
        *_environment(plan),
        *section(bash_parts.GUARD),
        *section(bash_parts.RUN_RANK),
        *section(bash_parts.END),
        *section(bash_parts.MAIN),
    ]
    return "\n".join(lines) + "\n"


def _header(plan: LaunchPlan) -> list[str]:
    last = len(plan.workers) - 1
    devices = ", ".join(str(worker.device) for worker in plan.workers)
    return [
        "#!/usr/bin/env bash",
        f"# Starts ranks 0 to {last} on devices {devices} of this server. Written by hccl-gen.",
        "#",
        f"#   bash ascend{last + 1}p.sh [ARGUMENT ...]      the arguments are added to the command below",
        "#",
        "# The rank table beside this script is checked first. Logs go to hccl_logs/RUN/rank_N.log in the current",
        f"# folder, rank 0 also to the screen. {_PORT} is kept where it is set, else a free port is taken.",
        "# The first rank that fails ends the job: its last lines come last, its exit code (128 + signal) is the",
        "# script's. Otherwise 0 is success, 2 could not start, 130 Ctrl-C, 143 SIGTERM, 129 SIGHUP.",
        "# Nothing that a rank starts outlives the job, unless it was given another environment.",
        "# Needs bash 4.3, coreutils, grep and util-linux; a python, where there is one, tests the port.",
    ]


def _job(plan: LaunchPlan, table: TableFile) -> list[str]:
    return [
        "",
        f"command=({words(plan.command)})",
        f"table_name={word(table.name)}",
        f"table_sha256={table.sha256}",
        f"devices=({' '.join(str(worker.device) for worker in plan.workers)}) # of rank 0, 1, ...",
    ]


def _environment(plan: LaunchPlan) -> list[str]:
    """What the ranks are told, under every name that a framework reads. On one server, local rank is rank."""
    shared = plan.workers[0]
    return [
        "",
        "# Left over from other ways of starting, these would override what is set below.",
        wrapped(" ".join(["unset -v", *MISLEADING, RUN_ID])),
        "",
        export("local_size", str(shared.local_size)),
        export("size", str(shared.size)),
        export("table", '"$table"'),
        export("master_addr", word(shared.master_addr or LOOPBACK)),
        export("master_port", '"$port"'),
        f'export {LOG_DIR}="$logs"',
        f"mark={RUN_ID}=$run # in the environment of the ranks and of all that they start, of nobody else",
        "",
        "rank_environment() { # RANK",
        f'    export {RUN_ID}="$run"',
        "    " + export("rank", '"$1"'),
        "    " + export("local_rank", '"$1"'),
        "    " + export("device", '"${devices[$1]}"'),
        "}",
    ]
