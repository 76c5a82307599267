"""Who is started with which environment: one worker for every rank of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hccl_kit.errors import KitError
from hccl_kit.loopback import LOOPBACK
from hccl_kit.rank_table import RankTable
from hccl_kit.worker_env import WorkerEnv


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """The command that every rank runs, and what each rank is told, in the order of the ranks.

    `table` and `master_port` of the workers are None: the path of the table and a free port are found on the machine
    that runs the job.
    """

    command: tuple[str, ...]
    workers: tuple[WorkerEnv, ...]


def plan(table: RankTable, command: Sequence[str]) -> LaunchPlan:
    """The plan that runs `command` once for every rank of `table`.

    KitError where the command cannot be run by any shell, where the ranks are not 0, 1, ... without gap or repeat
    (R17), or where the table holds several servers.
    """
    _check_command(command)
    if len(table.servers) != 1:
        raise KitError(
            f"the rank table holds {len(table.servers)} servers; a launch script is written for one",
            hint="make a table for one server: hccl-gen --device_num RANGE",
        )
    devices = table.by_rank()
    size = len(devices)
    if not devices or [device.rank for _, device in devices] != list(range(size)):
        found = ", ".join(str(device.rank) for _, device in devices) or "none"
        raise KitError(f"the ranks of the table are {found}; accepted: 0, 1, 2 and so on, each once")
    workers = tuple(
        WorkerEnv(
            rank=device.rank,
            size=size,
            local_rank=device.rank,
            local_size=size,
            device=device.id,
            master_addr=LOOPBACK,  # the ranks of one server meet there
        )
        for _, device in devices
    )
    return LaunchPlan(command=tuple(command), workers=workers)


def _check_command(command: Sequence[str]) -> None:
    if not command or not command[0]:
        raise KitError("the command is empty; accepted: a program and its arguments")
    for word in command:
        if "\0" in word:
            raise KitError(f"the command has a NUL character in {word!r}; no program can be given one")
        try:
            word.encode("utf-8")
        except UnicodeEncodeError as error:
            raise KitError(f"the command has {word!r}, which is not UTF-8 text and cannot go into a script") from error
