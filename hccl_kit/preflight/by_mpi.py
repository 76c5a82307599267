"""Compare the answers of the processes of one mpirun, each of which checks its server.

An error on a server is sent to process 0 like an answer, so that no process waits for it.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping, Sequence
from typing import Any

from hccl_kit.base.errors import KitError
from hccl_kit.base.grouped import grouped
from hccl_kit.base.message import Message
from hccl_kit.base.wording import row
from hccl_kit.discovery.mpi_group import MpiGroup
from hccl_kit.preflight.answer import Answer, from_value, to_value
from hccl_kit.preflight.cluster_rules import Round, differences
from hccl_kit.preflight.job import PreflightJob, Refused
from hccl_kit.preflight.site_rules import answer_here
from hccl_kit.table.document import shown
from hccl_kit.table.finding import Finding

_OF_MPIRUN = ("OMPI_", "PMIX_", "PMI_", "PRTE_", "OPAL_")
"""Prefixes of variables of the mpirun that this program runs under, which the job will not have."""
_SHOWN = 16


def check_server(job: PreflightJob | Refused, server: str | None) -> Answer:
    """The answer of this process; `server` names its server. Raises KitError if the table has no such server."""
    if isinstance(job, Refused):
        errors = [finding for finding in job.report.findings if finding.severity == "error"]
        if not errors:
            return no_answer(Message("preflight.table-not-read", "the table on this server cannot be read"))
        why = Message(
            "preflight.table-has-errors",
            "the table on this server has errors: {rule}: {message}",
            rule=errors[0].rule,
            message=errors[0].message,
        )
        return no_answer(why)
    environ = {name: value for name, value in os.environ.items() if not name.startswith(_OF_MPIRUN)}
    return answer_here(job, environ, server)


def no_answer(why: str) -> Answer:
    """The answer of a process that could not check its server."""
    return Answer("", socket.gethostname(), error=why)


def message(group: MpiGroup, answer: Answer) -> Mapping[str, object]:
    """What this process sends to process 0. All processes of the group must call it."""
    return {"answer": to_value(answer), "window": _window(group)}


def compare_servers(
    job: PreflightJob, messages: Sequence[Mapping[str, Any]]
) -> tuple[list[Answer], tuple[Finding, ...]]:
    """The answers of all servers in the order of the table, then those of other machines; and what differs.

    `messages` are those of the processes in their order. Raises KitError if one is not valid, or if several
    processes checked one server.
    """
    answers = [from_value(message["answer"]) for message in messages]
    _refuse_duplicates([answer.server for answer in answers])
    now = messages[0]["window"][2]
    pairs = zip(answers, messages, strict=True)
    ahead = {answer.server: _ahead(message["window"], now) for answer, message in pairs if answer.server}
    by_id = {answer.server: answer for answer in answers if answer.server}
    missing = Message("preflight.no-process", "no process of mpirun ran on this server")
    in_order = [by_id.get(server.id, Answer(server.id, error=missing)) for server in job.table.servers]
    others = [answer for answer in answers if not answer.server]
    answered = [answer for answer in in_order if answer.error is None]
    return [*in_order, *others], differences(Round(answered, job.digest, ahead, job.path))


def _window(group: MpiGroup) -> tuple[float, float, float]:
    """Times of this clock: before all processes gather, after process 0 shares, and between the two.

    The middle time of process 0 lies between the first two of every process.
    """
    before = time.time()
    group.gather("")
    middle = time.time()
    group.share(0)
    return before, time.time(), middle


def _ahead(window: Sequence[float], now: float) -> float:
    """The least seconds by which a clock is ahead of process 0 (below 0: behind), whose `now` is in the window."""
    before, after, _ = window
    return max(0.0, before - now) or min(0.0, after - now)


def _refuse_duplicates(servers: Sequence[str]) -> None:
    """Raises KitError if several processes have checked one server; "" is a machine that is none of the table."""
    for server, numbers in grouped((server, number) for number, server in enumerate(servers)).items():
        if server and len(numbers) > 1:
            raise KitError(
                "preflight.several-processes",
                "processes {processes} all check server {server}; one is enough",
                fix="start one process per server: mpirun --map-by ppr:1:node",
                processes=row(map(str, numbers[:_SHOWN])),
                server=shown(server),
            )
