"""Check every server of a table over ssh, and this one directly."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from hccl_kit.base.errors import KitError
from hccl_kit.base.interruptible import interruptible
from hccl_kit.launch.plan import address_of
from hccl_kit.launch.shell import words
from hccl_kit.preflight import over_ssh
from hccl_kit.preflight.answer import Answer, answer
from hccl_kit.preflight.cluster_rules import Round, differences
from hccl_kit.preflight.job import PreflightJob
from hccl_kit.preflight.json_form import read_answer
from hccl_kit.preflight.node import ATLAS_950
from hccl_kit.preflight.over_ssh import Reply
from hccl_kit.table.finding import Finding
from hccl_kit.table.model import Server


class Ssh(NamedTuple):
    """How to reach the other servers: values for ssh -o, the command of hccl-kit there, and seconds for one server."""

    options: Sequence[str]
    remote: str | None
    timeout: float


def check_servers(job: PreflightJob, server: str | None, ssh: Ssh) -> tuple[list[Answer], tuple[Finding, ...]]:
    """The answers of all servers in the order of the table, and what differs between them.

    `server` names this one. Raises KitError if the table names no hosts, or ssh cannot be run as asked.
    """
    if job.table.version == ATLAS_950:
        raise KitError(
            "preflight.table-without-hosts",
            "version 2.0 tables do not name hosts, which ssh needs",
            fix="mpirun --map-by ppr:1:node hccl-kit preflight TABLE --mpi",
        )
    this = job.node(os.environ, server)
    others = [server for server in job.table.servers if server is not this.server]
    program = over_ssh.program_there(ssh.remote)
    commands = [(address_of(server), _command(program, job, server)) for server in others]
    start = over_ssh.ssh_command(os.environ, ssh.options)

    def ask() -> tuple[Answer | None, list[Reply]]:
        with ThreadPoolExecutor(1) as side:
            local = side.submit(answer, this) if this.server else None
            replies = over_ssh.run_on_all(start, commands, job.data, timeout=ssh.timeout)
            return local.result() if local else None, replies

    here, replies = interruptible(ask)
    by_id = {server.id: _answer(server, reply) for server, reply in zip(others, replies, strict=True)}
    ahead = {server.id: _ahead(by_id[server.id], reply) for server, reply in zip(others, replies, strict=True)}
    if here:
        by_id[here.server] = here
    answers = [by_id[server.id] for server in job.table.servers]
    answered = [answer for answer in answers if answer.error is None]
    return answers, differences(Round(answered, job.digest, ahead, job.path))


def _command(program: Sequence[str], job: PreflightJob, server: Server) -> str:
    """The command line for the shell of a server; the table comes over standard input."""
    path = [f"--path={job.path}"] if job.path else []
    ignore = [f"--ignore={','.join(sorted(job.ignore))}"] if job.ignore else []
    product = f"--product={job.product.name}"
    return words([*program, "preflight", "-", f"--server={server.id}", product, "--format=json", *path, *ignore])


def _answer(server: Server, reply: Reply) -> Answer:
    if reply.error is not None:
        return Answer(server.id, error=reply.error)
    try:
        return read_answer(reply.text)._replace(server=server.id)
    except ValueError as error:
        return Answer(server.id, error=reply.stderr or str(error))


def _ahead(given: Answer, reply: Reply) -> float:
    """By how many seconds the clock there is ahead of ours at least; negative if it is behind."""
    if given.error is not None:
        return 0.0
    return max(0.0, given.clock - reply.ended) or min(0.0, given.clock - reply.started)
