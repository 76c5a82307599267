"""The msrun launcher, which comes with MindSpore: a page of bash for all servers, each of which runs it.

msrun sets DEVICE_ID to the local index and reads no rank table, so all variables of a worker are unset, and
VISIBLE_DEVICES maps the cards of the job to 0, 1, ... It also sets OMP_NUM_THREADS to 1 in its workers, which is kept.
Ranks start at node_rank times local_worker_num; the rules HK5 refuse tables of another order (msrun of MindSpore 2.10,
parallel/cluster/process_entity).
"""

from __future__ import annotations

from hccl_kit.base.errors import KitError
from hccl_kit.base.terminal import printable
from hccl_kit.launch.emitters import servers
from hccl_kit.launch.files import EXECUTABLE, LaunchFile, TableFile
from hccl_kit.launch.plan import LaunchPlan
from hccl_kit.launch.shell import export, fragment, set_unless_set, words, wrapped
from hccl_kit.runtime.worker_env import LOG_DIR, MISLEADING, NAMES, PLOGS, RESTART, RUN_ID, SERVER

(_PORT,) = NAMES["master_port"]
_PROGRAMS = ("python", "python3", "pytest")
"""What msrun starts as it is; it puts python before all other commands."""
_WAIT = 600
"""Seconds that msrun waits for the others."""


def emit(plan: LaunchPlan, table: TableFile) -> tuple[LaunchFile, ...]:
    """The script of a plan that has passed the rules HK5. The job does not read the rank table.

    Raises KitError if the command is not one that msrun starts.
    """
    program = plan.command[0]
    if program not in _PROGRAMS and not program.endswith(".py"):
        raise KitError(
            "launch.msrun.not-python",
            "msrun starts programs of Python; the command is {command}",
            fix="write python first, as in: -- python train.py, or -- python -m hccl_kit train",
            command=printable(program),
        )
    name = f"msrun{plan.size}p.sh"
    lines = [
        *_header(plan, table, name),
        "",
        *fragment("common/begin"),
        "type msrun python pgrep >/dev/null || hk_fail 'error: a program is not on PATH' \\",
        "    '  fix: put the bin folder of the Python that has MindSpore first on PATH; pgrep is in procps'",
        f'hk_command=({words(plan.command)} "$@")',
        *servers.this_server(plan),
        *fragment("common/logs", "common/run"),
        "",
        *_environment(plan, table),
        "",
        *fragment("common/end", "msrun/end"),
        *_start(plan),
    ]
    return (LaunchFile(name, "\n".join(lines) + "\n", EXECUTABLE),)


def _header(plan: LaunchPlan, table: TableFile, name: str) -> list[str]:
    several = len(plan.nodes) > 1
    where = f"{len(plan.nodes)} servers" if several else "this server"
    more = (
        [
            f"# Start it on every server within {_WAIT} s. If a rank fails, its server ends, and the others end when",
            "# MindSpore misses it.",
        ]
        if several
        else []
    )
    return [
        "#!/usr/bin/env bash",
        f"# Starts ranks 0 to {plan.size - 1} on {where} with msrun of MindSpore. It is meant to be read and edited.",
        f"#   bash {name} [ARGUMENT ...]     arguments are added to the command",
        *more,
        "# Rank N writes hccl_logs/RUN/worker_N.log; the first rank here is shown. The exit code is that of msrun,",
        "# 0: all succeeded, 1: a rank failed; or 2: nothing started, 130: Ctrl-C, 143: SIGTERM, 129: SIGHUP.",
        f"# Made from the rank table with sha256 {table.sha256},",
        "# which the job does not read: under msrun a rank table must not be set.",
    ]


def _environment(plan: LaunchPlan, table: TableFile) -> list[str]:
    names = [name for field, names in NAMES.items() if field not in ("master_port", "visible") for name in names]
    return [
        "# What other launchers have left goes; the cards of the job are those that msrun counts from 0 on.",
        wrapped(" ".join(["unset -v", *MISLEADING, *names, RUN_ID, RESTART, SERVER])),
        *servers.visible(),
        export(visible='"$hk_visible"') + f' {LOG_DIR}="$hk_logs"',
        f'export {PLOGS}="${{{PLOGS}:-$hk_logs/plog}}" # logs of CANN',
        *set_unless_set(plan.variables),
        servers.port(table if len(plan.nodes) > 1 else None),
    ]


def _start(plan: LaunchPlan) -> list[str]:
    first = "0" if len(plan.nodes) == 1 else "$((hk_node * ${#hk_cards[@]}))"
    master = words([plan.master])
    return [
        f'echo "scheduler at {plan.master}, port ${_PORT}, logs in $hk_logs"',
        f'setsid msrun --worker_num {plan.size} --local_worker_num "${{#hk_cards[@]}}" --master_addr {master} \\',
        f'    --master_port "${_PORT}" --node_rank "$hk_node" --join True --cluster_time_out {_WAIT} \\',
        f'    --log_dir "$hk_logs" --tail_worker_log "{first}" "${{hk_command[@]}}" &',
        'wait "$!" || {',
        "    hk_code=$?",
        '    echo "error: msrun failed with exit code $hk_code; logs in $hk_logs" >&2',
        '    exit "$hk_code"',
        "}",
    ]
