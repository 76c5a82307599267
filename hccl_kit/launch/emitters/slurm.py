"""The way out by Slurm: one batch script for one node or many, which starts its ranks by srun.

Slurm may hand out the nodes in another order than the table has them, so a rank is not told who it is: it finds the
server that its node is, and takes rank and card from the table by its number on the node. Where nodes have different
numbers of cards, Slurm starts as many tasks on each as the largest needs, and the ones that are too many end at once.
"""

from __future__ import annotations

import re

from hccl_kit.base.errors import KitError
from hccl_kit.launch.emitters import servers
from hccl_kit.launch.files import EXECUTABLE, LaunchFile, TableFile
from hccl_kit.launch.plan import LaunchPlan
from hccl_kit.launch.shell import export, fragment, word, words, wrapped
from hccl_kit.runtime.worker_env import LOG_DIR, MISLEADING, NAMES, RESTART, RUN_ID, SERVER

(_PORT,) = NAMES["master_port"]

_NAME = r"[A-Za-z0-9][A-Za-z0-9._+-]{0,127}"
_OPTIONS = {
    "job-name": (_NAME, "letters, digits and . _ + -"),
    "partition": (rf"{_NAME}(,{_NAME})*", "names with commas between them"),
    "time": (
        r"([0-9]{1,9}-)?[0-9]{1,9}(:[0-9]{1,2}){0,2}|UNLIMITED",
        'minutes, "12:00:00", "2-12:00:00" (days-hours:minutes:seconds) or "UNLIMITED"',
    ),
    "gres": (rf"{_NAME}(:{_NAME})?(:[0-9]{{1,9}})?(,{_NAME}(:{_NAME})?(:[0-9]{{1,9}})?)*", '"npu:8" or "npu:910b:8"'),
}
"""Option of sbatch -> what it may be, and in words. Nothing here ends a line or quotes."""


def emit(
    plan: LaunchPlan,
    table: TableFile,
    *,
    job_name: str | None = None,
    partition: str | None = None,
    time: str | None = None,
    gres: str | None = None,
) -> tuple[LaunchFile, ...]:
    """The batch script; the rank table lies beside it, on a disk that all nodes share.

    The options are those of sbatch, and `gres` is per node. KitError where one cannot be written into a script.
    """
    table.assert_is_name()
    wishes = {"job-name": job_name, "partition": partition, "time": time, "gres": gres}
    lines = [
        "#!/usr/bin/env bash",
        *_directives(plan, {option: value for option, value in wishes.items() if value is not None}),
        *_header(plan),
        *fragment("bash/start"),
        *_job(plan, table),
        *fragment("slurm/check_table"),
        *fragment("slurm/job"),
        *fragment("slurm/end"),
        *fragment("slurm/find_server"),
        *_environment(plan),
        *fragment("slurm/task"),
        "",
        f'if [[ ${{{RUN_ID}:-}} == "$run" && -n ${{SLURM_STEP_ID:-}} ]]; then task "$@"; else job "$@"; fi',
    ]
    return (LaunchFile(f"slurm{plan.size}p.sbatch", "\n".join(lines) + "\n", EXECUTABLE),)


def _directives(plan: LaunchPlan, wishes: dict[str, str]) -> list[str]:
    for option, value in wishes.items():
        pattern, accepted = _OPTIONS[option]
        if not re.fullmatch(pattern, value):
            raise KitError(f"--{option} is {value!r}; accepted: {accepted}")
    return [
        f"#SBATCH --nodes={len(plan.nodes)}",
        f"#SBATCH --ntasks-per-node={_tasks(plan)}",
        "#SBATCH --requeue",
        "#SBATCH --open-mode=append",
        *(f"#SBATCH --{option}={value}" for option, value in wishes.items()),
    ]


def _tasks(plan: LaunchPlan) -> int:
    """What srun starts on every node."""
    return max(len(node.workers) for node in plan.nodes)


def _header(plan: LaunchPlan) -> list[str]:
    """No text of others stands here: sbatch looks for directives in comments."""
    several = len(plan.nodes) > 1
    nodes = f"{len(plan.nodes)} nodes" if several else "one node"
    return [
        "#",
        f"# Starts ranks 0 to {plan.size - 1} on {nodes} by Slurm. Written by hccl_kit.",
        "#",
        f"#   sbatch slurm{plan.size}p.sbatch [ARGUMENT ...]      the arguments are added to the command below",
        "#",
        "# The rank table beside this script is checked first. A node of the job must be a server of it; where Slurm",
        "# may hand out others, ask for these by sbatch --nodelist. A server is known by its node's name in Slurm, its",
        f"# addresses or its host name; where none of these tells, {SERVER}=ID does.",
        "#",
        "# Logs go to hccl_logs/slurm-JOB/rank_N.log in the current folder, which all nodes must share; rank 0 is in",
        f"# the output of the job too. {_PORT} is kept where it is set, else the number of the job makes one.",
        "# The first rank that fails ends the job: its last lines come last, its exit code (128 + signal) is the",
        "# script's. Otherwise 0 is success, 2 could not start, 143 SIGTERM. Slurm gives the ranks KillWait seconds to",
        "# end; sbatch --signal=B:TERM@120 sends them SIGTERM 120 s before the time is over, and scancel --signal=USR1",
        f"# makes tools/train.py write the stacks of all ranks. What Slurm starts again after a requeue has {RESTART}.",
        "#",
        "# Slurm gives a rank one CPU where it is not asked for more: sbatch --cpus-per-task=24.",
        "# Needs bash 4.3, coreutils, grep and sed on all nodes.",
    ]


def _job(plan: LaunchPlan, table: TableFile) -> list[str]:
    return [
        "",
        f"command=({words(plan.command)})",
        f"table_name={word(table.name)}",
        f"table_sha256={table.sha256}",
        f"tasks={_tasks(plan)} # of a node",
        *servers.described(plan),
        f"port_name={_PORT}",
        f"server_name={SERVER}",
        f"server=${{{SERVER}:-}}",
        "run=slurm-${SLURM_JOB_ID:-}",
    ]


def _environment(plan: LaunchPlan) -> list[str]:
    """What the ranks are told, under every name that a framework reads."""
    return [
        "",
        "job_environment() { # in the script itself: srun hands it to the tasks",
        f'    export {RUN_ID}="$run"',
        f'    export {LOG_DIR}="$logs"',
        f"    unset -v {RESTART}",
        f"    ((restart == 0)) || export {RESTART}=$restart",
        "    " + export("size", str(plan.size)),
        "    " + export("table", '"$table"'),
        "    " + export("master_addr", word(plan.master)),
        "    " + export("master_port", '"$port"'),
        "}",
        "",
        "rank_environment() { # in a task, and after all that the site has set for it",
        "    # Left over from other ways of starting, these would override what is set below.",
        "    " + wrapped(" ".join(["unset -v", *MISLEADING, SERVER])).replace("\n", "\n    "),
        "    " + export("rank", '"$rank"'),
        "    " + export("local_rank", '"$SLURM_LOCALID"'),
        "    " + export("local_size", '"${#ranks[@]}"'),
        "    " + export("device", '"$device"'),
        "}",
    ]
