"""hccl-kit preflight --mpi: every process of an mpirun looks at its machine, process 0 tells of all.

What goes wrong on a machine is told to process 0 like an answer, so nobody waits for it, and all end with one code.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import time
from collections.abc import Mapping, Sequence
from typing import Any

from hccl_kit.base.errors import EXIT_OK, KitError
from hccl_kit.cli import run
from hccl_kit.cli.preflight import Job, Refused, job_of, show, tell_refused
from hccl_kit.discovery.mpi_group import MpiGroup
from hccl_kit.preflight.answer import Answer, answer, from_value, to_value
from hccl_kit.preflight.cluster_rules import Round, differences
from hccl_kit.table.document import shown

_OF_MPIRUN = ("OMPI_", "PMIX_", "PMI_", "PRTE_", "OPAL_")
"""Variables of the mpirun that this program runs under, which the job will not meet."""


def preflight_by_mpi(options: argparse.Namespace) -> int:
    """The exit code, the same on every process. KitError where MPI cannot be started here."""
    team = MpiGroup()
    with team.abort_on_error():
        job, found = _look(options)
        window = _window(team)
        texts = team.gather(json.dumps({"answer": to_value(found), "window": window}))
        code = EXIT_OK
        if texts is not None:
            code = run(lambda: _tell(job, [json.loads(text) for text in texts], options))
        return team.share(code)


def _look(options: argparse.Namespace) -> tuple[Job | Refused | KitError, Answer]:
    """The table as this process reads it, and what it found on this machine."""
    machine = socket.gethostname()
    try:
        if options.table == "-":
            raise KitError("with --mpi every process reads the table, and standard input is that of one only")
        job = job_of(options)
        if isinstance(job, Refused):
            wrong = [f"{one.rule}: {one.message}" for one in job.report.findings if one.severity == "error"]
            why = wrong[0] if wrong else "it cannot be read"
            return job, Answer("", machine, error=f"the table there has errors: {why}")
        environ = {name: value for name, value in os.environ.items() if not name.startswith(_OF_MPIRUN)}
        return job, answer(job.node(environ, options.server))
    except KitError as error:
        return error, Answer("", machine, error=error.message)


def _window(team: MpiGroup) -> tuple[float, float, float]:
    """Two times of this clock, and between them one that process 0 takes: before, after, and that of process 0."""
    before = time.time()
    team.gather("")
    middle = time.time()
    team.share(0)
    return before, time.time(), middle


# Without colors: standard output is always a terminal here, which mpirun makes, wherever its own goes.
def _tell(job: Job | Refused | KitError, told: Sequence[Mapping[str, Any]], options: argparse.Namespace) -> int:
    if isinstance(job, KitError):
        raise job
    if isinstance(job, Refused):
        return tell_refused(job, options.format)
    answers = [from_value(one["answer"]) for one in told]
    _refuse_doubles(answers)
    now = told[0]["window"][2]
    ahead = {one.server: _ahead(other["window"], now) for one, other in zip(answers, told, strict=True) if one.server}
    by_id = {one.server: one for one in answers if one.server}
    nobody = "no process of mpirun ran there"
    in_order = [by_id.get(server.id, Answer(server.id, error=nobody)) for server in job.table.servers]
    strangers = [one for one in answers if not one.server]
    there = [one for one in in_order if one.error is None]
    return show(job, [*in_order, *strangers], differences(Round(there, job.digest, ahead, job.path)), options.format)


def _ahead(window: Sequence[float], now: float) -> float:
    """Seconds by which a clock is certainly ahead of that of process 0, where it was `now` in between."""
    before, after, _ = window
    return max(0.0, before - now) or min(0.0, after - now)


def _refuse_doubles(answers: Sequence[Answer]) -> None:
    processes: dict[str, list[int]] = {}
    for number, one in enumerate(answers):
        processes.setdefault(one.server, []).append(number)
    for name, numbers in processes.items():
        if name and len(numbers) > 1:
            several = ", ".join(map(str, numbers[:16]))
            raise KitError(
                f"processes {several} all look at server {shown(name)}; one of them is enough",
                hint="start one process per server: mpirun --map-by ppr:1:node",
            )
