"""What the agent is told: the ranks of this server, the command, the environment, the log folder and the limits."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from hccl_kit.agent.binding import NONE
from hccl_kit.agent.job import GRACE
from hccl_kit.agent.machine import threads
from hccl_kit.agent.texts import ENGLISH

if TYPE_CHECKING:
    from hccl_kit.agent.texts import Texts

VERSION = 2
MIB = 1 << 20
MOST = 256 * MIB
"""Bytes of an assignment: a table of the largest jobs, and 4,096 variables of 4 KiB."""
POLICIES = (ALWAYS, VERDICT) = ("always", "verdict")
"""When the ranks of a job that has failed are started again: as often as may be, or as the diagnosis says."""
SCHEDULER = -1
"""Stands in the place of a rank for the scheduler of MindSpore, a process beside the ranks."""


class AssignedRank(NamedTuple):
    """A rank, the id of its card for messages, and the variables that only it gets."""

    rank: int
    card: int
    variables: dict[str, str]


class Default(NamedTuple):
    """A variable that ranks get unless it, or one of `others`, is in their environment.

    With `in_logs` the value is a path in the log folder of the start; one that ends in "/" is a folder, which is made.
    """

    name: str
    value: str
    others: tuple[str, ...] = ()
    in_logs: bool = False


class Limits(NamedTuple):
    """How a job is looked after: how often it is started again, by one of POLICIES, and more.

    `heartbeat` is the time in seconds without a step after which the job is ended, `log_limit` the size in bytes at
    which a log is cut; 0 means never. `prefix` shows the output of all ranks instead of rank 0. `bind` is one of
    `binding.BINDINGS`.
    """

    max_restarts: int = 0
    heartbeat: float = 0.0
    log_limit: int = 1024 * MIB
    prefix: bool = False
    restart_policy: str = ALWAYS
    bind: str = NONE

    @property
    def asks(self) -> bool:
        """Whether the diagnosis decides about a restart."""
        return self.restart_policy == VERDICT


class Assignment(NamedTuple):
    """What one agent starts, and how it looks after it.

    `environ` is the whole environment of a rank, or with `inherit` what is added to that of the agent, from which the
    names in `unset` are removed first. Then come `defaults`, and what depends on the start: `log_dir_name` (the log
    folder of the start), `port_name` (the port of rank 0: `port`, or a free one; "": none), `restart_name`
    (the number of the restart, from 1, plus `restarts_before`, which an outer launcher has counted). `threads_name` is
    a default: the cores of this server by rank. `mark` is a variable of `environ` that only this job has: a process
    with it ends with the job.

    `folder` is the log folder of the run, absolute, and `files` what is written there first. `cwd` is where the ranks
    start, "": where the agent does. `host` is the name of this server in messages, `node` its number. `grace` is the
    time in seconds between two signals to the ranks, the last of which is SIGKILL. `texts` are in the language of the
    user, see `texts`.
    """

    command: tuple[str, ...]
    ranks: tuple[AssignedRank, ...]
    environ: dict[str, str]
    mark: str
    folder: str
    host: str
    log_dir_name: str
    node: int = 0
    inherit: bool = False
    unset: tuple[str, ...] = ()
    defaults: tuple[Default, ...] = ()
    threads_name: str = ""
    files: dict[str, str] = {}  # noqa: RUF012 - never changed
    cwd: str = ""
    port_name: str = "MASTER_PORT"
    port: int | None = None
    restart_name: str = ""
    restarts_before: int = 0
    limits: Limits = Limits()
    grace: float = GRACE
    texts: Texts = ENGLISH

    def to_json(self) -> str:
        """One line, which `read` takes."""
        ranks, defaults = ([row._asdict() for row in rows] for rows in (self.ranks, self.defaults))
        parts = {"ranks": ranks, "defaults": defaults, "limits": self.limits._asdict()}
        return json.dumps({"version": VERSION, **self._asdict(), **parts})

    def here(self, environ: Mapping[str, str]) -> Assignment:
        """The assignment with the whole environment of a rank, if the agent has `environ`.

        `threads_name` stays if the variable was set here.
        """
        whole = dict(self.environ)
        if self.inherit:
            whole = {**{name: value for name, value in environ.items() if name not in self.unset}, **whole}
        name = "" if whole.get(self.threads_name) else self.threads_name
        if name:
            ranks = sum(rank.rank != SCHEDULER for rank in self.ranks)
            whole[name] = str(threads(max(1, ranks), environ))
        defaults = tuple(row for row in self.defaults if not any(name in whole for name in (row.name, *row.others)))
        return self._replace(environ=whole, inherit=False, unset=(), defaults=defaults, threads_name=name)

    def with_threads(self, most: int) -> Assignment:
        """The assignment from `here` in which no rank has more threads, unless the user has set them."""
        if not self.threads_name:
            return self
        threads = str(min(most, int(self.environ[self.threads_name])))
        return self._replace(environ={**self.environ, self.threads_name: threads})

    def logs(self, attempt: int) -> str:
        """The log folder of a start: that of the run, and below it one for each restart."""
        return self.folder if attempt == 0 else os.path.join(self.folder, f"restart_{attempt}")

    def variables(self, rank: AssignedRank, attempt: int, port: int) -> dict[str, str]:
        """The whole environment of a rank in this start; the assignment is from `here`."""
        logs = self.logs(attempt)
        defaults = {
            row.name: os.path.normpath(os.path.join(logs, row.value)) if row.in_logs else row.value
            for row in self.defaults
        }
        restart = attempt + self.restarts_before
        counted = {self.restart_name: str(restart)} if self.restart_name and restart else {}
        of_port = {self.port_name: str(port)} if self.port_name else {}
        of_start = {self.log_dir_name: logs, **counted, **of_port}
        return {**self.environ, **defaults, **of_start, **rank.variables}


def read(text: str) -> Assignment:
    """The assignment of one JSON line. Raises ValueError for any other text; the values are the starter's."""
    try:
        given = json.loads(text)
        if not isinstance(given, dict) or given.pop("version", None) != VERSION:
            raise ValueError(f"not an assignment of version {VERSION}")
        given["ranks"] = tuple(AssignedRank(**rank) for rank in given["ranks"])
        given["defaults"] = tuple(Default(**{**row, "others": tuple(row["others"])}) for row in given["defaults"])
        given["limits"] = Limits(**given["limits"])
        given.update({name: tuple(given[name]) for name in ("command", "unset")})
        return Assignment(**given)
    except (KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"not an assignment: {error}") from error
