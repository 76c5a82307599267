"""Check every server of a table, and its cards, or describe it, over ssh, and this one directly."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

from hccl_kit.base.errors import KitError
from hccl_kit.base.interruptible import interruptible
from hccl_kit.base.message import reason_of
from hccl_kit.base.schemas import loads
from hccl_kit.launch.plan import address_of
from hccl_kit.preflight import on_server
from hccl_kit.preflight.answer import Answer, from_value
from hccl_kit.preflight.card_pings import LONGEST, Place, Plan
from hccl_kit.preflight.card_probe import probe
from hccl_kit.preflight.card_state import CardRound
from hccl_kit.preflight.card_state import from_value as cards_in
from hccl_kit.preflight.cluster_rules import Round, differences
from hccl_kit.preflight.job import PreflightJob
from hccl_kit.preflight.machine import Machine, answer, this_machine
from hccl_kit.preflight.machine import from_value as machine_in
from hccl_kit.preflight.node import ATLAS_950
from hccl_kit.preflight.probes.this_server import find_server
from hccl_kit.remote.asking import Reply
from hccl_kit.remote.probe import Host, Probe, Reach
from hccl_kit.runtime.worker_env import SERVER
from hccl_kit.table.finding import Finding
from hccl_kit.table.model import RankTable, Server

PACKAGES = ("agent", "base", "check", "discovery", "launch", "preflight", "remote", "runtime", "table")
"""What `on_server` imports."""
_Answer = TypeVar("_Answer")


def check_servers(job: PreflightJob, server: str | None, reach: Reach) -> tuple[list[Answer], tuple[Finding, ...]]:
    """The answers of all servers in the order of the table, and what differs between them.

    `server` names this one. Raises KitError if the table names no hosts.
    """
    this = job.node(os.environ, server)
    words = (job.product.name, *([str(job.path)] if job.path else []))
    servers = _Servers(job.table, this.server, reach)
    answered, silent, replies = servers.ask(on_server.SERVER, words, lambda: answer(this), from_value, job.data)
    ahead = {name: _ahead(answered[name].clock, reply) for name, reply in replies.items() if name in answered}
    answers = [
        answered[name]._replace(server=name) if name in answered else Answer(name, error=silent[name])
        for name in (server.id for server in job.table.servers)
    ]
    without_errors = [answer for answer in answers if answer.error is None]
    return answers, differences(Round(without_errors, job.digest, ahead, job.path))


def check_cards(job: PreflightJob, server: str | None, reach: Reach, plan: Plan) -> CardRound:
    """What the cards of all servers answered, and their pings.

    `server` names this one. Raises KitError if the table names no hosts. A server has as much longer than `reach` says
    as its pings may take.
    """
    this = job.node(os.environ, server)
    patient = reach._replace(timeout=reach.timeout + plan.rounds * LONGEST)
    words = (job.product.name, on_server.ALL if plan.all_pairs else on_server.RAIL)
    answered, silent, _ = _Servers(job.table, this.server, patient).ask(
        on_server.CARDS, words, lambda: probe(this, all_pairs=plan.all_pairs), cards_in, job.data
    )
    return CardRound(
        {Place(name, card): state for name, answer in answered.items() for card, state in answer.states.items()},
        [
            (Place(name, card), target, link, pinged)
            for name, answer in answered.items()
            for card, target, link, pinged in answer.pings
        ],
        plan,
        {**silent, **{name: answer.error for name, answer in answered.items() if answer.error is not None}},
    )


def machines_of(table: RankTable, reach: Reach, server: str | None = None) -> tuple[dict[str, Machine], dict[str, str]]:
    """The machines of all servers by their id, and why others did not answer; `server` names this one.

    Raises KitError if the table names no hosts.
    """
    this = find_server(table, server or os.environ.get(SERVER))
    machines, silent, _ = _Servers(table, this, reach).ask(on_server.MACHINE, (), this_machine, machine_in)
    return machines, silent


class _Servers(NamedTuple):
    """The servers of a table, of which `this` is asked here, and the others as `reach` says."""

    table: RankTable
    this: Server | None
    reach: Reach

    def ask(
        self,
        kind: str,
        words: Sequence[str],
        local: Callable[[], _Answer],
        parsed: Callable[[Any], _Answer],
        stdin: bytes = b"",
    ) -> tuple[dict[str, _Answer], dict[str, str], dict[str, Reply]]:
        """The answers of the servers by their id, also of this one; why others have none; and all replies.

        The others are asked by `on_server` with these words. Raises KitError if the table names no hosts.
        """
        if self.table.version == ATLAS_950:
            raise KitError(
                "preflight.table-without-hosts",
                "version 2.0 tables do not name hosts, which ssh needs",
                fix="mpirun --map-by ppr:1:node hccl-kit preflight TABLE --mpi",
            )
        others = [server for server in self.table.servers if server is not self.this]
        hosts = [Host(server.id, address_of(server), (kind, server.id, *words)) for server in others]

        def ask() -> tuple[dict[str, _Answer], list[Reply]]:
            with ThreadPoolExecutor(1) as side:
                here = {self.this.id: side.submit(local)} if self.this else {}
                replies = Probe("preflight.on_server", PACKAGES).ask(self.reach, hosts, stdin)
                return {name: answer.result() for name, answer in here.items()}, replies

        here, in_order = interruptible(ask)
        replies = {server.id: reply for server, reply in zip(others, in_order, strict=True)}
        answered, silent = dict[str, _Answer](), dict[str, str]()
        for name, reply in replies.items():
            try:
                answered[name] = parsed(loads(reply.document()))
            except (ValueError, KitError) as error:
                silent[name] = reason_of(error)
        return answered | here, silent, replies


def _ahead(clock: float, reply: Reply) -> float:
    """By how many seconds the clock there is ahead of ours at least; negative if it is behind."""
    return max(0.0, clock - reply.ended) or min(0.0, clock - reply.started)
