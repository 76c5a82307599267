"""Check every server of a table over ssh, and this one directly."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

from hccl_kit.base.errors import KitError
from hccl_kit.base.interruptible import interruptible
from hccl_kit.base.schemas import loads
from hccl_kit.launch.plan import address_of
from hccl_kit.preflight.answer import Answer
from hccl_kit.preflight.cluster_rules import Round, differences
from hccl_kit.preflight.facts import answer
from hccl_kit.preflight.job import PreflightJob
from hccl_kit.preflight.json_form import answer_in
from hccl_kit.preflight.node import ATLAS_950
from hccl_kit.remote.asking import Reply
from hccl_kit.remote.probe import Host, Probe, Reach
from hccl_kit.table.finding import Finding
from hccl_kit.table.model import Server

PACKAGES = ("agent", "base", "check", "discovery", "launch", "preflight", "remote", "runtime", "table")
"""What `on_server` imports."""


def check_servers(job: PreflightJob, server: str | None, reach: Reach) -> tuple[list[Answer], tuple[Finding, ...]]:
    """The answers of all servers in the order of the table, and what differs between them.

    `server` names this one. Raises KitError if the table names no hosts.
    """
    if job.table.version == ATLAS_950:
        raise KitError(
            "preflight.table-without-hosts",
            "version 2.0 tables do not name hosts, which ssh needs",
            fix="mpirun --map-by ppr:1:node hccl-kit preflight TABLE --mpi",
        )
    this = job.node(os.environ, server)
    others = [server for server in job.table.servers if server is not this.server]
    probe = Probe("preflight.on_server", PACKAGES)
    path = [str(job.path)] if job.path else []
    hosts = [Host(server.id, address_of(server), (server.id, job.product.name, *path)) for server in others]

    def ask() -> tuple[Answer | None, list[Reply]]:
        with ThreadPoolExecutor(1) as side:
            local = side.submit(answer, this) if this.server else None
            replies = probe.ask(reach, hosts, job.data)
            return local.result() if local else None, replies

    here, replies = interruptible(ask)
    by_id = {server.id: _answer(server, reply) for server, reply in zip(others, replies, strict=True)}
    ahead = {server.id: _ahead(by_id[server.id], reply) for server, reply in zip(others, replies, strict=True)}
    if here:
        by_id[here.server] = here
    answers = [by_id[server.id] for server in job.table.servers]
    answered = [answer for answer in answers if answer.error is None]
    return answers, differences(Round(answered, job.digest, ahead, job.path))


def _answer(server: Server, reply: Reply) -> Answer:
    try:
        return answer_in(loads(reply.document()))._replace(server=server.id)
    except (ValueError, KitError) as error:
        return Answer(server.id, error=str(error))


def _ahead(given: Answer, reply: Reply) -> float:
    """By how many seconds the clock there is ahead of ours at least; negative if it is behind."""
    if given.error is not None:
        return 0.0
    return max(0.0, given.clock - reply.ended) or min(0.0, given.clock - reply.started)
