"""The msrun launcher, which comes with MindSpore: a page of bash for all servers, each of which runs it.

msrun sets DEVICE_ID to the local index and reads no rank table, so all variables of a worker are unset, and
VISIBLE_DEVICES maps the cards of the job to 0, 1, ... It also sets OMP_NUM_THREADS to 1 in its workers, which is kept.
Ranks start at node_rank times local_worker_num; the rules HK5 refuse tables of another order (msrun of MindSpore 2.10,
parallel/cluster/process_entity).
"""

from __future__ import annotations

from collections.abc import Iterator

from hccl_kit.base.errors import KitError
from hccl_kit.base.terminal import printable
from hccl_kit.launch.emitters import servers
from hccl_kit.launch.files import EXECUTABLE, LaunchFile, TableFile
from hccl_kit.launch.plan import LaunchPlan
from hccl_kit.launch.shell import export, fragment, set_unless_set, word, words, wrapped
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
    lines = ["#!/usr/bin/env bash", *_script(plan, table, name)]
    return (LaunchFile(name, "\n".join(lines) + "\n", EXECUTABLE),)


def _script(plan: LaunchPlan, table: TableFile, name: str) -> Iterator[str]:
    several = len(plan.nodes) > 1
    more = [
        f"# Start it on every server within {_WAIT} s. If a rank fails, its server ends, and the others end when",
        "# MindSpore misses it.",
    ]
    return fragment(
        "msrun/script",
        last=str(plan.size - 1),
        where=f"{len(plan.nodes)} servers" if several else "this server",
        name=name,
        more=more if several else [],
        digest=table.sha256,
        begin=fragment("common/begin"),
        command=words(plan.command),
        server=servers.this_server(plan),
        run_folder=fragment("common/logs", "common/run"),
        environment=_environment(plan, table),
        end=fragment("common/end"),
        master=plan.master,
        master_word=word(plan.master),
        port=_PORT,
        size=str(plan.size),
        wait=str(_WAIT),
        first="$((hk_node * ${#hk_cards[@]}))" if several else "0",
    )


def _environment(plan: LaunchPlan, table: TableFile) -> list[str]:
    names = [name for field, names in NAMES.items() if field not in ("master_port", "visible") for name in names]
    return [
        wrapped(" ".join(["unset -v", *MISLEADING, *names, RUN_ID, RESTART, SERVER])),
        *servers.visible(),
        export(visible='"$hk_visible"') + f' {LOG_DIR}="$hk_logs"',
        f'export {PLOGS}="${{{PLOGS}:-$hk_logs/plog}}" # logs of CANN',
        *set_unless_set(plan.variables),
        servers.port(table if len(plan.nodes) > 1 else None),
    ]
