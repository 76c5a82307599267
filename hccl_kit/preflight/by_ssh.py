"""Check every server of a table, and its cards, or describe it, over ssh, and this one directly."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

from hccl_kit.base.errors import KitError
from hccl_kit.base.interruptible import interruptible
from hccl_kit.base.message import reason_of
from hccl_kit.base.schemas import loads
from hccl_kit.launch.plan import address_of
from hccl_kit.preflight import cards_on_server
from hccl_kit.preflight.answer import Answer
from hccl_kit.preflight.card_pings import LONGEST, Place, Plan
from hccl_kit.preflight.card_probe import probe
from hccl_kit.preflight.card_round import CardRound
from hccl_kit.preflight.card_state import CardsAnswer, from_value
from hccl_kit.preflight.cluster_rules import Round, differences
from hccl_kit.preflight.facts import answer
from hccl_kit.preflight.job import PreflightJob
from hccl_kit.preflight.json_form import answer_in
from hccl_kit.preflight.machine import Machine, this_machine
from hccl_kit.preflight.machine import from_value as machine_in
from hccl_kit.preflight.node import ATLAS_950
from hccl_kit.preflight.probes.this_server import find_server
from hccl_kit.remote.asking import Reply
from hccl_kit.remote.probe import Host, Probe, Reach
from hccl_kit.runtime.worker_env import SERVER
from hccl_kit.table.finding import Finding
from hccl_kit.table.model import RankTable, Server

PACKAGES = ("agent", "base", "check", "discovery", "launch", "preflight", "remote", "runtime", "table")
"""What `on_server`, `cards_on_server` and `machine_on_server` import."""
_Local = TypeVar("_Local")


def check_servers(job: PreflightJob, server: str | None, reach: Reach) -> tuple[list[Answer], tuple[Finding, ...]]:
    """The answers of all servers in the order of the table, and what differs between them.

    `server` names this one. Raises KitError if the table names no hosts.
    """
    this = job.node(os.environ, server)
    path = [str(job.path)] if job.path else []
    words = (job.product.name, *path)
    servers = _Servers(job.table, this.server, reach)
    here, replies = servers.ask("preflight.on_server", words, lambda: answer(this), job.data)
    others = {server.id: server for server in job.table.servers if server.id in replies}
    by_id = {name: _answer(server, replies[name]) for name, server in others.items()}
    ahead = {name: _ahead(by_id[name], reply) for name, reply in replies.items()}
    if here:
        by_id[here.server] = here
    answers = [by_id[server.id] for server in job.table.servers]
    answered = [answer for answer in answers if answer.error is None]
    return answers, differences(Round(answered, job.digest, ahead, job.path))


def check_cards(job: PreflightJob, server: str | None, reach: Reach, plan: Plan) -> CardRound:
    """What the cards of all servers answered, and their pings.

    `server` names this one. Raises KitError if the table names no hosts. A server has as much longer than `reach` says
    as its pings may take.
    """
    this = job.node(os.environ, server)
    patient = reach._replace(timeout=reach.timeout + plan.rounds * LONGEST)
    words = (job.product.name, cards_on_server.ALL if plan.all_pairs else cards_on_server.RAIL)
    servers = _Servers(job.table, this.server, patient)
    here, replies = servers.ask(
        "preflight.cards_on_server", words, lambda: probe(this, all_pairs=plan.all_pairs), job.data
    )
    by_id = {name: _cards_answer(reply) for name, reply in replies.items()}
    if here and this.server:
        by_id[this.server.id] = here
    return CardRound(
        {Place(name, card): state for name, answer in by_id.items() for card, state in answer.states.items()},
        [
            (Place(name, card), target, link, pinged)
            for name, answer in by_id.items()
            for card, target, link, pinged in answer.pings
        ],
        plan,
        {name: answer.error for name, answer in by_id.items() if answer.error is not None},
    )


def machines_of(table: RankTable, reach: Reach, server: str | None = None) -> tuple[dict[str, Machine], dict[str, str]]:
    """The machines of all servers by their id, and why others did not answer; `server` names this one.

    Raises KitError if the table names no hosts.
    """
    this = find_server(table, server or os.environ.get(SERVER))
    here, replies = _Servers(table, this, reach).ask("preflight.machine_on_server", (), this_machine)
    machines = {this.id: here} if this and here else {}
    silent = {}
    for name, reply in replies.items():
        try:
            machines[name] = machine_in(loads(reply.document()))
        except (ValueError, KitError) as error:
            silent[name] = reason_of(error)
    return machines, silent


class _Servers(NamedTuple):
    """The servers of a table, of which `this` is asked here, and the others as `reach` says."""

    table: RankTable
    this: Server | None
    reach: Reach

    def ask(
        self, module: str, words: Sequence[str], local: Callable[[], _Local], stdin: bytes = b""
    ) -> tuple[_Local | None, dict[str, Reply]]:
        """The answer of this server, if it is one of the table, and the replies of the others by their id.

        The others are asked by `module`, with their id before the `words`. Raises KitError if the
        table names no hosts.
        """
        if self.table.version == ATLAS_950:
            raise KitError(
                "preflight.table-without-hosts",
                "version 2.0 tables do not name hosts, which ssh needs",
                fix="mpirun --map-by ppr:1:node hccl-kit preflight TABLE --mpi",
            )
        others = [server for server in self.table.servers if server is not self.this]
        hosts = [Host(server.id, address_of(server), (server.id, *words)) for server in others]

        def ask() -> tuple[_Local | None, list[Reply]]:
            with ThreadPoolExecutor(1) as side:
                here = side.submit(local) if self.this else None
                replies = Probe(module, PACKAGES).ask(self.reach, hosts, stdin)
                return here.result() if here else None, replies

        answer_here, replies = interruptible(ask)
        return answer_here, {server.id: reply for server, reply in zip(others, replies, strict=True)}


def _cards_answer(reply: Reply) -> CardsAnswer:
    try:
        return from_value(loads(reply.document()))
    except (ValueError, KitError) as error:
        return CardsAnswer(error=reason_of(error))


def _answer(server: Server, reply: Reply) -> Answer:
    try:
        return answer_in(loads(reply.document()))._replace(server=server.id)
    except (ValueError, KitError) as error:
        return Answer(server.id, error=reason_of(error))


def _ahead(given: Answer, reply: Reply) -> float:
    """By how many seconds the clock there is ahead of ours at least; negative if it is behind."""
    if given.error is not None:
        return 0.0
    return max(0.0, given.clock - reply.ended) or min(0.0, given.clock - reply.started)
