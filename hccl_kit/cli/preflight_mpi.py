"""hccl-kit preflight --mpi: every process of an mpirun checks its server, process 0 prints the report on all.

An error on a server is sent to process 0 like an answer, so no process waits for it, and all end with one exit code.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hccl_kit.base.errors import EXIT_OK, KitError
from hccl_kit.base.message import Message
from hccl_kit.cli import exit_code_of
from hccl_kit.cli.preflight_steps import PreflightRequest, open_job, print_answers, print_refused
from hccl_kit.discovery.mpi_group import MpiGroup
from hccl_kit.preflight.answer import Answer, answer, to_value
from hccl_kit.preflight.cluster_rules import Round, differences
from hccl_kit.preflight.job import PreflightJob, Refused
from hccl_kit.preflight.json_form import answer_in
from hccl_kit.table.document import shown

_OF_MPIRUN = ("OMPI_", "PMIX_", "PMI_", "PRTE_", "OPAL_")
"""Prefixes of variables of the mpirun that this program runs under, which the job will not have."""
_SHOWN = 16


def preflight_by_mpi(read: Callable[[], PreflightRequest]) -> int:
    """Check the servers as the request of `read` says; returns the exit code, the same on every process.

    Raises KitError if MPI cannot be started.
    """
    team = MpiGroup()
    with team.abort_on_error():
        job, form, found = _check_this(read)
        window = _window(team)
        texts = team.gather(json.dumps({"answer": to_value(found), "window": window}))
        code = EXIT_OK
        if texts is not None:
            code = exit_code_of(lambda: _report(job, [json.loads(text) for text in texts], form))
        return team.share(code)


def _check_this(read: Callable[[], PreflightRequest]) -> tuple[PreflightJob | Refused | KitError, str, Answer]:
    """The table as this process reads it, the format of the report, and the answer of this server."""
    machine = socket.gethostname()
    form = "text"
    try:
        request = read()
        form = request.format
        if request.table == "-":
            raise KitError(
                Message(
                    "cli.preflight-mpi.mpi-cannot-read",
                    "--mpi cannot read the table from standard input: every process needs the file",
                )
            )
        job = open_job(request)
        if isinstance(job, Refused):
            errors = [f"{one.rule}: {one.message}" for one in job.report.findings if one.severity == "error"]
            why = errors[0] if errors else "it cannot be read"
            return job, form, Answer("", machine, error=f"the table on this server has errors: {why}")
        environ = {name: value for name, value in os.environ.items() if not name.startswith(_OF_MPIRUN)}
        return job, form, answer(job.node(environ, request.server))
    except KitError as error:
        return error, form, Answer("", machine, error=error.message)


def _window(team: MpiGroup) -> tuple[float, float, float]:
    """Times of this clock: before all processes gather, after process 0 shares, and between the two.

    The middle time of process 0 lies between the first two of every process.
    """
    before = time.time()
    team.gather("")
    middle = time.time()
    team.share(0)
    return before, time.time(), middle


# Without colors: mpirun makes standard output a terminal here, even if its own is a file.
def _report(job: PreflightJob | Refused | KitError, received: Sequence[Mapping[str, Any]], form: str) -> int:
    if isinstance(job, KitError):
        raise job
    if isinstance(job, Refused):
        return print_refused(job, form)
    answers = [answer_in(one["answer"]) for one in received]
    _refuse_duplicates(answers)
    now = received[0]["window"][2]
    pairs = zip(answers, received, strict=True)
    ahead = {one.server: _ahead(other["window"], now) for one, other in pairs if one.server}
    by_id = {one.server: one for one in answers if one.server}
    missing = "no process of mpirun ran on this server"
    in_order = [by_id.get(server.id, Answer(server.id, error=missing)) for server in job.table.servers]
    others = [one for one in answers if not one.server]
    there = [one for one in in_order if one.error is None]
    return print_answers(job, [*in_order, *others], differences(Round(there, job.digest, ahead, job.path)), form)


def _ahead(window: Sequence[float], now: float) -> float:
    """The least seconds by which a clock is ahead of process 0 (below 0: behind), whose `now` is in the window."""
    before, after, _ = window
    return max(0.0, before - now) or min(0.0, after - now)


def _refuse_duplicates(answers: Sequence[Answer]) -> None:
    processes: dict[str, list[int]] = {}
    for number, one in enumerate(answers):
        processes.setdefault(one.server, []).append(number)
    for name, numbers in processes.items():
        if name and len(numbers) > 1:
            several = ", ".join(map(str, numbers[:_SHOWN]))
            raise KitError(
                Message(
                    "cli.preflight-mpi.processes-all-check",
                    "processes {several} all check server {name}; one is enough",
                    several=several,
                    name=shown(name),
                ),
                hint=Message(
                    "cli.preflight-mpi.processes-all-check.fix",
                    "start one process per server: mpirun --map-by ppr:1:node",
                ),
            )
