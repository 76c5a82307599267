"""The launch script of one server: a bash program that needs nothing of ours.

Pure: from a plan to the whole text. What depends on the job is written line by line, every word of it through one
gate (`_word`). The rest is the fixed text of `bash_parts`, which uses shell variables only, no name of the contract.
"""

from __future__ import annotations

import hashlib
import shlex
import textwrap

from hccl_kit.errors import KitError
from hccl_kit.launch import bash_parts
from hccl_kit.launch.plan import LaunchPlan
from hccl_kit.loopback import LOOPBACK
from hccl_kit.worker_env import LOG_DIR, MISLEADING, NAMES, RUN_ID

(_PORT,) = NAMES["master_port"]


def script(plan: LaunchPlan, *, table_name: str, table_text: str) -> str:
    """The whole text of the script that starts `plan`.

    `table_name` is the file name of the rank table, which lies beside the script; `table_text` is its content, whose
    SHA-256 (over UTF-8) the script asks for before it starts anything. KitError where `table_name` is a path.
    """
    if not table_name or "/" in table_name or "\0" in table_name:
        raise KitError(f"the rank table is {table_name!r}; accepted: a file name, since it lies beside the script")
    lines = [
        *_header(plan),
        *_fixed(bash_parts.START),
        *_job(plan, table_name, table_text),
        *_fixed(bash_parts.CHECK_TABLE),
        *_fixed(bash_parts.FREE_PORT),
        f"choose_port {_PORT}",
        *_fixed(bash_parts.LOGS),
        *_environment(plan),
        *_fixed(bash_parts.GUARD),
        *_fixed(bash_parts.RUN_RANK),
        *_fixed(bash_parts.END),
        *_fixed(bash_parts.MAIN),
    ]
    return "\n".join(lines) + "\n"


def _word(text: str) -> str:
    """The one gate through which text of others enters the script."""
    return shlex.quote(text)


def _fixed(part: str) -> list[str]:
    """A section of fixed text, set off from what stands before it."""
    return ["", *part.strip("\n").split("\n")]


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


def _job(plan: LaunchPlan, table_name: str, table_text: str) -> list[str]:
    return [
        "",
        f"command=({' '.join(_word(word) for word in plan.command)})",
        f"table_name={_word(table_name)}",
        f"table_sha256={hashlib.sha256(table_text.encode()).hexdigest()}",
        f"devices=({' '.join(str(worker.device) for worker in plan.workers)}) # of rank 0, 1, ...",
    ]


def _environment(plan: LaunchPlan) -> list[str]:
    """What the ranks are told, under every name that a framework reads. On one server, local rank is rank."""
    shared = plan.workers[0]
    return [
        "",
        "# Left over from other ways of starting, these would override what is set below.",
        _wrapped(" ".join(["unset -v", *MISLEADING, RUN_ID])),
        "",
        _export("local_size", str(shared.local_size)),
        _export("size", str(shared.size)),
        _export("table", '"$table"'),
        _export("master_addr", _word(shared.master_addr or LOOPBACK)),
        _export("master_port", '"$port"'),
        f'export {LOG_DIR}="$logs"',
        f"mark={RUN_ID}=$run # in the environment of the ranks and of all that they start, of nobody else",
        "",
        "rank_environment() { # RANK",
        f'    export {RUN_ID}="$run"',
        "    " + _export("rank", '"$1"'),
        "    " + _export("local_rank", '"$1"'),
        "    " + _export("device", '"${devices[$1]}"'),
        "}",
    ]


def _export(field: str, value: str) -> str:
    """Export a field of WorkerEnv under each of its names; `value` is shell text."""
    return " ".join(["export", *(f"{name}={value}" for name in NAMES[field])])


def _wrapped(command: str) -> str:
    """A long command over several lines."""
    return " \\\n    ".join(textwrap.wrap(command, 100, break_on_hyphens=False))
