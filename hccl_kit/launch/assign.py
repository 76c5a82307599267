"""The assignments of the agents: the plan, and the environment of the ranks."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from hccl_kit.agent.assignment import AssignedRank, Assignment, Default, Limits
from hccl_kit.agent.binding import NONE
from hccl_kit.base.errors import KitError
from hccl_kit.base.terminal import printable
from hccl_kit.base.wording import joined
from hccl_kit.launch.agent_texts import agent_texts
from hccl_kit.launch.files import TableFile
from hccl_kit.launch.plan import LaunchPlan
from hccl_kit.launch.recorders import RECORDERS
from hccl_kit.runtime.worker_env import (
    LOG_DIR,
    MISLEADING,
    NAMES,
    PLOGS,
    RESTART,
    RUN_ID,
    SERVER,
    THREADS,
    VISIBLE_DEVICES,
)

OF_THE_JOB = frozenset(name for names in NAMES.values() for name in names) | {RUN_ID, LOG_DIR, RESTART}
"""The variables that a launcher sets for its ranks; nobody else may."""
AFFINITY = "CPU_AFFINITY_CONF"
"""The variable by which torch_npu binds its threads; its mode 0 is off. Source: the pages of torch_npu, 2026-08."""
BINDERS = ("numactl", "taskset")
"""Programs that choose the cores of the command behind them."""


class Extra(NamedTuple):
    """A variable of the user for every rank, or for one of them."""

    name: str
    value: str
    rank: int | None = None


def check(plan: LaunchPlan, environ: Mapping[str, str], extra: Sequence[Extra], bind: str = NONE) -> None:
    """Raises KitError if the user has set what contradicts the plan.

    That is a list of visible cards that is not that of the job, a variable of the launcher, or, with `bind`, another
    choice of cores.
    """
    if bind != NONE:
        _assert_alone(bind, plan, environ, extra)
    if plan.limits_cards:
        _assert_visible(environ, {node.workers[0].visible or "" for node in plan.nodes})
    for row in extra:
        _assert_free(row, plan)


def assign(
    plan: LaunchPlan,
    environ: Mapping[str, str],
    *,
    table: Path,
    folder: Path,
    host: str,
    node: int = 0,
    port: int | None = None,
    limits: Limits = Limits(),  # noqa: B008 - it is immutable
    extra: Sequence[Extra] = (),
) -> Assignment:
    """What the agent of server `node` of `plan` is told, if it starts here; `environ` is the environment of the caller.

    `table` is the rank table, absolute, `folder` the new log folder of this run, whose name is the name of the run.
    `host` is the server in messages. `port` is the port of rank 0 that the user has given. What the user has set must
    be checked: see `check`.
    """
    server = plan.nodes[node]
    run = folder.name
    of_server = run if len(plan.nodes) == 1 else f"{run}.{node}"  # several may be on one host
    common = {name: value for name, value in environ.items() if name not in {*MISLEADING, *OF_THE_JOB, SERVER}}
    common |= {row.name: row.value for row in extra if row.rank is None}
    variables = [Default(name, value) for name, value in plan.variables if name not in OF_THE_JOB]
    ranks = []
    for worker, card in zip(server.workers, server.devices, strict=True):
        values = worker.to_environ() | dict.fromkeys(NAMES["table"], str(table))
        values |= dict.fromkeys(NAMES["run"], run)
        values |= {row.name: row.value for row in extra if row.rank == worker.rank}
        ranks.append(AssignedRank(worker.rank, card, values))
    (port_name,) = NAMES["master_port"]
    restarts = environ.get(RESTART, "")
    return Assignment(
        command=plan.command,
        ranks=tuple(ranks),
        environ={**common, RUN_ID: of_server},
        mark=f"{RUN_ID}={of_server}",
        folder=str(folder),
        host=host,
        log_dir_name=LOG_DIR,
        node=node,
        defaults=(*variables, Default(PLOGS, f"plog/{_as_file_name(server.id)}/", in_logs=True), *RECORDERS),
        threads_name=THREADS,
        port_name=port_name,
        port=port,
        restart_name=RESTART,
        restarts_before=int(restarts) if re.fullmatch("[0-9]{1,6}", restarts, re.ASCII) else 0,
        limits=limits,
        texts=agent_texts(),
    )


def elsewhere(assignment: Assignment, file: TableFile, cwd: Path) -> Assignment:
    """The assignment for the agent of another host: its `environ` is added to the environment there.

    The agent writes the table into its log folder, unless it sees that of this host, and the ranks start in `cwd`.
    """
    left_over = tuple(sorted({*MISLEADING, *OF_THE_JOB, SERVER}))
    return assignment._replace(inherit=True, unset=left_over, files={file.name: file.text}, cwd=str(cwd))


def as_shell(assignment: Assignment, environ: Mapping[str, str]) -> Iterator[str]:
    """What each rank gets, as lines for a shell whose environment is `environ`. A port that is chosen later is PORT."""
    bind = assignment.limits.bind
    if bind != NONE:
        yield f"# --bind {bind}: the agent chooses the cores on its server, when it starts the ranks"
    whole = assignment.here(environ)
    environs = [whole.variables(rank, 0, assignment.port or 0) for rank in assignment.ranks]
    if assignment.port is None:
        environs = [{**variables, assignment.port_name: "PORT"} for variables in environs]
    common = dict(set(environs[0].items()).intersection(*(variables.items() for variables in environs)))
    removed = sorted(environ.keys() - environs[0].keys())
    if removed:
        yield " ".join(["unset", *removed])
    for name, value in sorted(common.items()):
        if environ.get(name) != value:
            yield f"export {name}={shlex.quote(value)}"
    for rank, variables in zip(assignment.ranks, environs, strict=True):
        words = [f"{name}={shlex.quote(value)}" for name, value in variables.items() if name not in common]
        yield " ".join([*words, shlex.join(assignment.command), f"&  # card {rank.card}"])


def _assert_visible(environ: Mapping[str, str], lists: Collection[str]) -> None:
    given = environ.get(VISIBLE_DEVICES)
    if given is not None and {given} != lists:
        cards = joined(sorted(lists))
        raise KitError(
            "launch.visible-cards",
            "{name}={given}; the cards of this job are {cards}",
            fix="unset {name}, or set it to {cards}; for other cards, make a table with them",
            name=VISIBLE_DEVICES,
            given=printable(str(given)[:80]),
            cards=cards,
        )


def _assert_alone(bind: str, plan: LaunchPlan, environ: Mapping[str, str], extra: Sequence[Extra]) -> None:
    program = Path(plan.command[0]).name if plan.command else ""
    values = [environ.get(AFFINITY, ""), *(row.value for row in extra if row.name == AFFINITY)]
    others = [f"{AFFINITY}={value[:80]}" for value in values if value.partition(",")[0].strip() not in ("", "0")]
    others += [program] if program in BINDERS else []
    if others:
        raise KitError(
            "launch.two-bindings",
            "--bind {bind} and {other} both choose the cores of the ranks",
            fix="leave out one of them",
            bind=bind,
            other=printable(others[0]),
        )


def _assert_free(row: Extra, plan: LaunchPlan) -> None:
    if row.name in OF_THE_JOB:
        raise KitError(
            "launch.variable-of-job",
            "{name} is set by the launcher, for each rank",
            fix="leave out --env {name}",
            name=row.name,
        )
    if row.rank is not None and not 0 <= row.rank < plan.size:
        raise KitError(
            "launch.variable-of-no-rank",
            "{name} is for rank {rank}; this job has ranks 0 to {last}",
            name=row.name,
            rank=row.rank,
            last=plan.size - 1,
        )


def _as_file_name(server: str) -> str:
    name = re.sub("[^A-Za-z0-9._-]", "_", server)[:40]
    return f"_{name[1:]}" if name.startswith(".") else name
