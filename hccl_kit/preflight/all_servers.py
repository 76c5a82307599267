"""Check every server of a table, and its cards, or describe it: over ssh, and this one directly; or under mpirun.

With mpirun each process checks its server. An error there is sent to process 0 like an answer, so that no process waits
for it.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

from hccl_kit.base.errors import KitError
from hccl_kit.base.grouped import grouped
from hccl_kit.base.interruptible import interruptible
from hccl_kit.base.message import Message, reason_of
from hccl_kit.base.schemas import loads
from hccl_kit.base.wording import row
from hccl_kit.discovery.mpi_group import MpiGroup
from hccl_kit.launch.plan import address_of
from hccl_kit.preflight import on_server
from hccl_kit.preflight.answer import Answer, from_value, to_value
from hccl_kit.preflight.card_probe import probe
from hccl_kit.preflight.card_round import LONGEST, CardRound, Place, Plan
from hccl_kit.preflight.card_round import from_value as cards_in
from hccl_kit.preflight.cluster_rules import Round, differences
from hccl_kit.preflight.job import PreflightJob, Refused
from hccl_kit.preflight.machine import Machine, answer, this_machine
from hccl_kit.preflight.machine import from_value as machine_in
from hccl_kit.preflight.node import ATLAS_950
from hccl_kit.preflight.probes.this_server import find_server
from hccl_kit.preflight.site_rules import answer_here
from hccl_kit.remote.asking import Reply
from hccl_kit.remote.probe import Host, Probe, Reach
from hccl_kit.runtime.worker_env import SERVER
from hccl_kit.table.document import shown
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
    ahead = {
        name: _ahead(answered[name].clock, reply.started, reply.ended)
        for name, reply in replies.items()
        if name in answered
    }
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


def _ahead(clock: float, first: float, last: float) -> float:
    """By how many seconds a clock is ahead at least of another that went from `first` to `last`; negative if behind."""
    return max(0.0, clock - last) or min(0.0, clock - first)


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
    ahead = {answer.server: -_ahead(now, *message["window"][:2]) for answer, message in pairs if answer.server}
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
