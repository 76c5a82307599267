"""The servers of a plan, and their agents: start them, give each step to their ranks, collect results in bounded time.

Agents are started here, over ssh or by srun. What the ranks report is kept by `rank_states`.
"""

from __future__ import annotations

import selectors
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple

from hccl_kit.base.errors import KitError
from hccl_kit.base.extra import install_extra
from hccl_kit.base.message import Message
from hccl_kit.base.own_program import own_program
from hccl_kit.launch.plan import LaunchPlan, Node
from hccl_kit.launch.servers.connection import Connection
from hccl_kit.remote.probe import Probe
from hccl_kit.selftest.agent import Order
from hccl_kit.selftest.protocol import ADDRESS, MAX_LINE, Event, Fields, Result, encode, event_of
from hccl_kit.selftest.rank_states import RankStates
from hccl_kit.selftest.rounds import Card

SILENCE = 6.0
"""Seconds without a sign of life after which a rank counts as stopped."""
MARGIN = 5.0
"""Seconds beyond the timeout of a step in which its results arrive."""
GRACE = 3.0
"""Seconds in which an agent ends its ranks."""
_POLL = 0.1
_MAX_UNREAD = 8 << 20
"""Bytes that wait for a server; one that does not read them gets no more."""
_MAX_EARLY = 1000
"""What ranks may put before all agents were started; frameworks load for longer."""


class Server(NamedTuple):
    """A server: its id, the command that starts its agent, its ranks and what the agent reads first.

    `payload` is what the command reads before: the agent, where it is not installed.
    """

    id: str
    command: Sequence[str]
    ranks: tuple[int, ...]
    order: Order
    payload: bytes = b""


Agent = Connection[Event | None]


@contextmanager
def session(servers: Sequence[Server], *, shares_fate: bool) -> Iterator[Session]:
    """The agents of the servers, started; at the end nothing runs any more, on any server.

    `shares_fate` is that of `RankStates`.
    """
    ranks = RankStates((rank for server in servers for rank in server.ranks), shares_fate=shares_fate)
    with selectors.DefaultSelector() as selector:
        started = Session(ranks, selector)
        try:
            for server in servers:
                started.start(server)
            started.pass_on_early()
            yield started
        finally:
            started.end()


class Session:
    """The agents that run, by the ranks of their servers, and what these ranks have reported."""

    def __init__(self, ranks: RankStates, selector: selectors.BaseSelector) -> None:
        self.ranks = ranks
        self._selector = selector
        self._agents: dict[int, Agent] = {}
        self._step = 0
        self._early: list[Event] | None = []
        self._news: dict[Agent, Server] = {}

    def start(self, server: Server) -> None:
        """Start the agent of a server; its ranks are lost if that fails."""
        sent = server.payload + encode(server.order._asdict())
        try:
            agent = Connection(server.command, sent, self._selector, event_of)
        except OSError as error:
            program, reason = server.command[0], error.strerror
            why = Message("selftest.no-agent", "{program} cannot be started: {reason}", program=program, reason=reason)
            self.ranks.lose(server.ranks, "unreachable", why)
            return
        agent.tell_news = partial(self._news.__setitem__, agent, server)
        self._agents |= dict.fromkeys(server.ranks, agent)

    def pass_on_early(self) -> None:
        """All agents were started: those that came later get what ranks had put before."""
        early, self._early = self._early or [], None
        for put in early:
            self._pass_on(put)

    def end(self) -> None:
        """End all agents, and wait for that: they end their ranks when their input ends, and are killed after GRACE."""
        agents = {*self._agents.values()}
        for agent in agents:
            agent.hang_up()
        end = time.monotonic() + GRACE
        while time.monotonic() < end and not all(agent.lost for agent in agents):
            self._select()
        for agent in agents:
            agent.close()

    def ready(self, seconds: float) -> None:
        """Wait until all ranks are ready. If none makes progress for `seconds`, those that are not ready are lost."""
        end = time.monotonic() + seconds
        phases = self.ranks.phases()
        while time.monotonic() < end and not self.ranks.is_over and self.ranks.unready():
            self.listen()
            self.ranks.lose_silent(self.ranks.unready(), time.monotonic(), SILENCE)
            if self.ranks.phases() != phases:  # busy servers load their frameworks one after the other
                phases, end = self.ranks.phases(), time.monotonic() + seconds
        if not self.ranks.is_doomed:
            self.ranks.lose_unready(seconds)

    def step(self, command: Mapping[str, Any], ranks: Sequence[int], timeout: float) -> dict[int, Result]:
        """Give a step to `ranks`; their results. A rank without one is lost, or gets a result with its problem."""
        self._step += 1
        self._send({**command, "step": self._step, "timeout": timeout, "to": list(ranks)}, ranks)
        end = time.monotonic() + timeout + MARGIN
        while (missing := self.ranks.without(self._step, ranks)) and not self.ranks.is_doomed:
            if time.monotonic() > end:
                break
            self.listen()
            self.ranks.lose_silent(missing, time.monotonic(), SILENCE)
        self.ranks.lose_late(self._step, ranks)
        problem = Message("selftest.late", "no end after {seconds:g} s", seconds=timeout + MARGIN)
        return self.ranks.results(self._step, ranks, problem)

    def listen(self) -> None:
        """Take what has come; wait at most _POLL seconds for it."""
        self._select()
        news = [*self._news.items()]
        self._news.clear()
        for agent, server in news:
            self._hear(server, agent)

    def _select(self) -> None:
        for key, _ in self._selector.select(_POLL):
            key.data()

    def _hear(self, server: Server, agent: Agent) -> None:
        for event in agent.take():
            if event is not None and event.rank in server.ranks:
                self.ranks.hear(event, time.monotonic())
                if event.kind == "put":
                    self._take(event)
        if agent.lost:
            self.ranks.lose(server.ranks, "unreachable", agent.lost)
            self._agents = {rank: other for rank, other in self._agents.items() if other is not agent}
            agent.close()

    def _take(self, put: Event) -> None:
        if self._early is None:
            self._pass_on(put)
        elif len(self._early) < _MAX_EARLY:
            self._early.append(put)

    def _pass_on(self, put: Event) -> None:
        to = [rank for rank in put.to if rank in self._agents]
        self._send({"do": "put", "key": put.key, "value": put.value, "to": to}, to)

    def _send(self, fields: Fields, ranks: Sequence[int]) -> None:
        line = encode(fields)
        if len(line) <= MAX_LINE:  # an agent would end at a longer one
            for agent in dict.fromkeys(self._agents[rank] for rank in ranks if rank in self._agents):
                if len(agent.to_send) < _MAX_UNREAD:
                    agent.send(line)


BACKENDS: Mapping[str, str] = {
    "gloo": "torch",
    "mindspore": "mindspore",
    "mpi": "mpi4py",
    "nccl": "torch",
    "hccl": "torch_npu",
}
"""What moves the data, and the package that it needs, in the order in which they are tried."""
ON_CARDS = frozenset({"nccl", "hccl"})
"""Backends that measure cards and the links between them, not CPUs and the host network."""
SHARES_FATE = frozenset({"mpi", "mindspore"})
"""Frameworks that end all ranks if one ends."""
AGENT = "selftest.agent"
"""The module of the agent."""
PACKAGES = ("base", "discovery", "runtime", "selftest")
"""What the agent and the ranks import."""


def backend_here() -> str:
    """The first framework that is installed here. Raises KitError if there is none."""
    backend = next((name for name, package in BACKENDS.items() if find_spec(package)), None)
    if backend is None:
        raise KitError(
            "selftest.no-framework",
            "neither torch, mindspore nor mpi4py is installed here",
            fix="pip install torch, or {install}",
            install=install_extra("mpi"),
        )
    return backend


def cards_of(plan: LaunchPlan) -> list[Card]:
    """The cards of a job in the order of their ranks."""
    return sorted(
        Card(worker.rank, node.id, card)
        for node in plan.nodes
        for worker, card in zip(node.workers, node.devices, strict=True)
    )


def server(
    node: Node, backend: str, command: Sequence[str], environ: Mapping[str, str], payload: bytes = b""
) -> Server:
    """A node of a plan, whose agent is started by `command` and `payload`; its ranks get `environ` too."""
    workers = [worker.to_environ() for worker in node.workers]
    address = node.workers[0].master_addr if node.workers[0].size == len(node.workers) else node.address
    order = Order(backend, {**environ, ADDRESS: address or node.address}, workers)
    return Server(node.id, command, node.ranks, order, payload)


def local_command() -> tuple[str, ...]:
    """The command that starts the agent of this server."""
    return own_program(f"hccl_kit.{AGENT}")


def agent_probe() -> Probe:
    """The agent as a program that goes over the connection."""
    return Probe(AGENT, PACKAGES)
