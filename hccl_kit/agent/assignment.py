"""What the agent is told: the ranks of this server, the command, the environment, the log folder and the limits."""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple

VERSION = 1
MIB = 1 << 20


class AssignedRank(NamedTuple):
    """A rank, the id of its card for messages, and the variables that only it gets."""

    rank: int
    card: int
    variables: dict[str, str]


class Assignment(NamedTuple):
    """What one agent starts, and how it looks after it.

    `environ` is the whole environment of a rank, but for the variables of the rank itself, and for those that depend on
    the start: `in_logs` (name -> path in the log folder of the start; one that ends in "/" is a folder, which is made),
    `port_name` (the port of rank 0: `port`, or a free one of `ports`), and `restart_name` (the number of the restart,
    from 1, plus `restarts_before`, which an outer launcher has counted). `mark` is a variable of `environ` that only
    this job has: a process with it ends with the job.

    `folder` is the log folder of the run, absolute, made by the caller for this run alone. `limit` is the size in bytes
    at which a log is cut, 0: never. `heartbeat` is the time in seconds without a step after which the job is ended, 0:
    never. `prefix` shows the output of all ranks instead of rank 0. `node` is the number of this server.
    """

    command: tuple[str, ...]
    ranks: tuple[AssignedRank, ...]
    environ: dict[str, str]
    mark: str
    folder: str
    host: str
    in_logs: dict[str, str]
    node: int = 0
    port_name: str = "MASTER_PORT"
    port: int | None = None
    ports: tuple[int, int] = (20000, 32000)
    restart_name: str = ""
    restarts_before: int = 0
    max_restarts: int = 0
    heartbeat: float = 0.0
    limit: int = 1024 * MIB
    prefix: bool = False

    def to_json(self) -> str:
        """One line, which `read` takes."""
        return json.dumps({"version": VERSION, **self._asdict(), "ranks": [rank._asdict() for rank in self.ranks]})

    def logs(self, attempt: int) -> str:
        """The log folder of a start: that of the run, and below it one for each restart."""
        return self.folder if attempt == 0 else os.path.join(self.folder, f"restart_{attempt}")

    def variables(self, rank: AssignedRank, attempt: int, port: int) -> dict[str, str]:
        """The whole environment of a rank in this start."""
        logs = self.logs(attempt)
        in_logs = {name: os.path.normpath(os.path.join(logs, path)) for name, path in self.in_logs.items()}
        restart = attempt + self.restarts_before
        counted = {self.restart_name: str(restart)} if self.restart_name and restart else {}
        return {**self.environ, **in_logs, **counted, self.port_name: str(port), **rank.variables}


def read(text: str) -> Assignment:
    """The assignment of one JSON line. Raises ValueError for any other text."""
    try:
        given = json.loads(text)
        if not isinstance(given, dict) or given.pop("version", None) != VERSION:
            raise ValueError(f"not an assignment of version {VERSION}")
        ranks = tuple(
            AssignedRank(int(rank["rank"]), int(rank["card"]), _texts(rank["variables"])) for rank in given["ranks"]
        )
        numbers = ("node", "restarts_before", "max_restarts", "limit")
        texts = {name: _texts(given[name]) for name in ("environ", "in_logs")}
        values: dict[str, Any] = {**given, **texts, **{name: int(given[name]) for name in numbers}}
        port, (first, last) = given["port"], given["ports"]
        values.update(port=None if port is None else int(port), ports=(int(first), int(last)))
        values.update(command=tuple(map(str, given["command"])), heartbeat=float(given["heartbeat"]))
        return Assignment(**{**values, "ranks": ranks})
    except (AttributeError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"not an assignment: {error}") from error


def _texts(given: Any) -> dict[str, str]:
    return {str(name): str(value) for name, value in given.items()}
