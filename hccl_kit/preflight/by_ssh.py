"""Check every server of a table, and its cards, over ssh, and this one directly."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from hccl_kit.base.errors import KitError
from hccl_kit.base.interruptible import interruptible
from hccl_kit.base.schemas import loads
from hccl_kit.launch.plan import address_of
from hccl_kit.preflight import cards_on_server
from hccl_kit.preflight.answer import Answer
from hccl_kit.preflight.card_pings import LONGEST, Place, Plan
from hccl_kit.preflight.card_probe import probe
from hccl_kit.preflight.card_rules import CardRound
from hccl_kit.preflight.card_state import CardsAnswer, from_value
from hccl_kit.preflight.cluster_rules import Round, differences
from hccl_kit.preflight.facts import answer
from hccl_kit.preflight.job import PreflightJob
from hccl_kit.preflight.json_form import answer_in
from hccl_kit.preflight.node import ATLAS_950, Node
from hccl_kit.remote.asking import Reply
from hccl_kit.remote.probe import Host, Probe, Reach
from hccl_kit.table.finding import Finding
from hccl_kit.table.model import Server

PACKAGES = ("agent", "base", "check", "discovery", "launch", "preflight", "remote", "runtime", "table")
"""What `on_server` and `cards_on_server` import."""
_Local = TypeVar("_Local")


def check_servers(job: PreflightJob, server: str | None, reach: Reach) -> tuple[list[Answer], tuple[Finding, ...]]:
    """The answers of all servers in the order of the table, and what differs between them.

    `server` names this one. Raises KitError if the table names no hosts.
    """
    this = job.node(os.environ, server)
    path = [str(job.path)] if job.path else []
    here, replies = _ask(job, this, "preflight.on_server", reach, lambda: answer(this), arguments=path)
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
    pairs = [cards_on_server.ALL if plan.all_pairs else cards_on_server.RAIL]
    here, replies = _ask(
        job, this, "preflight.cards_on_server", patient, lambda: probe(this, all_pairs=plan.all_pairs), arguments=pairs
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


def _ask(
    job: PreflightJob, this: Node, module: str, reach: Reach, local: Callable[[], _Local], *, arguments: Sequence[str]
) -> tuple[_Local | None, dict[str, Reply]]:
    """The answer of this server, if it is one of the table, and the replies of the others by their id.

    The others are asked by `module` with their id, the product and `arguments`. Raises KitError if the table names no
    hosts.
    """
    if job.table.version == ATLAS_950:
        raise KitError(
            "preflight.table-without-hosts",
            "version 2.0 tables do not name hosts, which ssh needs",
            fix="mpirun --map-by ppr:1:node hccl-kit preflight TABLE --mpi",
        )
    others = [server for server in job.table.servers if server is not this.server]
    hosts = [Host(server.id, address_of(server), (server.id, job.product.name, *arguments)) for server in others]

    def ask() -> tuple[_Local | None, list[Reply]]:
        with ThreadPoolExecutor(1) as side:
            here = side.submit(local) if this.server else None
            replies = Probe(module, PACKAGES).ask(reach, hosts, job.data)
            return here.result() if here else None, replies

    answer_here, replies = interruptible(ask)
    return answer_here, {server.id: reply for server, reply in zip(others, replies, strict=True)}


def _cards_answer(reply: Reply) -> CardsAnswer:
    try:
        return from_value(loads(reply.document()))
    except (ValueError, KitError) as error:
        return CardsAnswer(error=str(error))


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
