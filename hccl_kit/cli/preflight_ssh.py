"""hccl-kit preflight --all: every server is asked over ssh, this one by itself."""

from __future__ import annotations

import argparse
import math
import os
import shlex
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from hccl_kit.base.errors import KitError
from hccl_kit.cli.preflight import Job
from hccl_kit.launch.plan import HOST_IP
from hccl_kit.launch.shell import words
from hccl_kit.preflight import over_ssh
from hccl_kit.preflight.answer import Answer, answer
from hccl_kit.preflight.cluster_rules import Round, differences
from hccl_kit.preflight.json_form import read_answer
from hccl_kit.preflight.over_ssh import Said
from hccl_kit.table.finding import Finding
from hccl_kit.table.model import Server

_NO_HOSTS = "2.0"


def preflight_over_ssh(job: Job, options: argparse.Namespace) -> tuple[list[Answer], tuple[Finding, ...]]:
    """Every server's answer in the order of the table, and what differs between them."""
    if job.table.version == _NO_HOSTS:
        raise KitError("a table of version 2.0 names no hosts, so nobody can be asked", hint="mpirun ... --mpi")
    if not (math.isfinite(options.timeout) and options.timeout > 0):
        raise KitError(f"--timeout {options.timeout:g} is no time; accepted: seconds above 0")
    own = job.node(os.environ, options.server)
    others = [server for server in job.table.servers if server is not own.server]
    refused = {server.id: why for server in others if (why := over_ssh.refusal(address_of(server)))}
    asked = [server for server in others if server.id not in refused]
    program = _program(options.remote)
    questions = [(address_of(server), _question(program, job, server, options.product)) for server in asked]
    ssh = over_ssh.ssh_command(os.environ, options.ssh_option)

    with ThreadPoolExecutor(1) as side:
        looking = side.submit(answer, own) if own.server else None
        said = over_ssh.ask_all(ssh, questions, job.data, timeout=options.timeout)
        here = looking.result() if looking else None
    found = {server.id: _answer(server, one) for server, one in zip(asked, said, strict=True)}
    found |= {name: Answer(name, error=why) for name, why in refused.items()}
    if here:
        found[here.server] = here
    ahead = {server.id: _ahead(found[server.id], one) for server, one in zip(asked, said, strict=True)}
    answers = [found[server.id] for server in job.table.servers]
    there = [one for one in answers if one.error is None]
    return answers, differences(
        Round(there, job.digest, {one.server: ahead.get(one.server, 0.0) for one in there}, job.path)
    )


def address_of(server: Server) -> str:
    """Where ssh reaches it."""
    host_ip = server.extra.get(HOST_IP)
    return host_ip if isinstance(host_ip, str) and host_ip else server.id


def _question(program: Sequence[str], job: Job, server: Server, product: str) -> str:
    """A line for the shell there; the table comes over standard input."""
    path = [f"--path={job.path}"] if job.path else []
    ignore = [f"--ignore={','.join(sorted(job.ignore))}"] if job.ignore else []
    return words(
        [*program, "preflight", "-", f"--server={server.id}", f"--product={product}", "--format=json", *path, *ignore]
    )


def _program(wanted: str | None) -> list[str]:
    """hccl-kit on the other side: as the user says, else the path of the one that was started here."""
    if wanted:
        try:
            return shlex.split(wanted)
        except ValueError as error:
            raise KitError(f"--remote {wanted!r} cannot be read as a command: {error}") from error
    started = Path(sys.argv[0])
    return [str(started.absolute())] if started.name == "hccl-kit" and started.is_file() else ["hccl-kit"]


def _answer(server: Server, said: Said) -> Answer:
    if said.error is not None:
        return Answer(server.id, error=said.error)
    try:
        return read_answer(said.text)._replace(server=server.id)
    except ValueError as error:
        return Answer(server.id, error=said.complaint or str(error))


def _ahead(found: Answer, said: Said) -> float:
    """Seconds by which its clock is certainly ahead of ours; negative: behind."""
    if found.error is not None:
        return 0.0
    return max(0.0, found.clock - said.answered) or min(0.0, found.clock - said.asked)
