"""The ranks of all servers, for the loop of the job: what one agent does for its server, done by one on each."""

from __future__ import annotations

import selectors
import time
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from functools import partial

from hccl_kit.agent import report
from hccl_kit.agent.assignment import Assignment
from hccl_kit.agent.job import Clear, Event, Exited, Gone, Hung, Lost, Send, Start
from hccl_kit.agent.lines import (
    LIFE,
    SIGN,
    Describe,
    End,
    Failure,
    Order,
    Output,
    Ready,
    Refused,
    Report,
    Said,
    Started,
    line,
)
from hccl_kit.agent.screen import OUT, Screen
from hccl_kit.agent.texts import phrase
from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.terminal import clean
from hccl_kit.base.translation import translated
from hccl_kit.launch.servers.connection import Connection

AT_ONCE = 64
"""Connections that are being made at a time; each is a process that computes keys."""
SETTLE = 1.0
"""Seconds in which further servers may report that their ranks make no progress: the lowest step is to blame."""
LOOK = 0.5
"""Seconds between two looks, if no server starts or ends."""
MOST_SHOWN = 8
"""Servers that say which ranks they start."""
PATIENCE = 5.0
"""Seconds in which a server must describe its failure, or end."""
SOON = 0.05
"""Seconds between two looks meanwhile."""


class State(Enum):
    """What a server does."""

    WAITING = "is not connected"
    CONNECTING = "is being connected"
    READY = "has no ranks"
    RUNNING = "has ranks"
    LOST = "is lost"


class Server:
    """A server of the job: its assignment, its state, and its connection once there is one.

    `has_logs`: it answers, and its logs are not on a disk of this host.
    """

    connection: Connection[Report]

    def __init__(self, number: int, assignment: Assignment) -> None:
        self.number = number
        self.assignment = assignment
        self.name = assignment.host
        self.ranks = frozenset(rank.rank for rank in assignment.ranks)
        self.state = State.WAITING
        self.has_logs = False

    @property
    def is_connected(self) -> bool:
        """Whether it can be told something."""
        return self.state not in (State.WAITING, State.LOST)

    def tell(self, order: Order | None) -> None:
        """Send an order, or a sign of life, if it is connected."""
        if not self.is_connected or (order is None and self.connection.to_send):  # what waits is a sign of life too
            return
        self.connection.send(LIFE if order is None else line(order))

    def start(self, attempt: int, port: int | None) -> None:
        """Start its ranks; without a port it chooses one, and reports it."""
        self.tell(Start(attempt, port))
        self.state = State.RUNNING

    def describe(self, cause: Exited | Hung, selector: selectors.BaseSelector, *, is_shown: bool) -> str:
        """What the server says of the failure of one of its ranks, or what is known here if it does not answer.

        `is_shown`: the output of the rank ends the screen.
        """
        self.tell(Describe(cause, is_shown))
        end = time.monotonic() + PATIENCE
        while self.is_connected and not self.connection.lost and time.monotonic() < end:
            wait(selector)
            for news in self.connection.take():
                if isinstance(news, Failure):
                    return clean(news.text)
        cards = {row.rank: row.card for row in self.assignment.ranks}
        texts, log = self.assignment.texts, f"{self.assignment.folder}/rank_{report.blamed(cause)}.log"
        left = report.End(phrase(texts, "agent.log-of-host", log=log, host=self.name), ())
        return report.failure(texts, cause, cards, self.name, heartbeat=self.assignment.limits.heartbeat, end=left)


def wait(selector: selectors.BaseSelector) -> None:
    """Take what comes within SOON."""
    for key, _ in selector.select(SOON):
        key.data()


class Servers:
    """The ranks of `assignments`, one for each server; `connect` reaches a server.

    `lost` are the servers that do not answer any more or refused to start, in this order; `lost_ranks`: one had ranks.
    `hung` are the reports of ranks without progress, the first of `hung_since`, and `gone` those of ended ranks, each
    with the time of the first failure; all times are of the monotonic clock.
    """

    def __init__(
        self,
        assignments: Sequence[Assignment],
        connect: Callable[[Server, selectors.BaseSelector], Connection[Report]],
        selector: selectors.BaseSelector,
        screen: Screen,
    ) -> None:
        self.servers = [Server(number, assignment) for number, assignment in enumerate(assignments)]
        self.connect = connect
        self.selector = selector
        self.screen = screen
        self.news: dict[int, Server] = {}
        self.to_start: int | None = None
        self.is_clearing = False
        self.lost: list[int] = []
        self.lost_ranks = False
        self.ended: list[Exited] = []
        self.hung: list[Hung] = []
        self.hung_since = 0.0
        self.gone: list[tuple[float, Gone]] = []
        self.told = time.monotonic()

    @property
    def pause(self) -> float:
        """Seconds until the next call of `events`, if nothing happens."""
        return SOON if self.is_clearing or self.hung or self.ended else LOOK

    def obey(self, order: Order) -> None:
        """Do this on all servers that have ranks; a start waits until all are ready."""
        if isinstance(order, Start):
            self.to_start, self.is_clearing, self.hung, self.gone = order.attempt, False, [], []
            return
        if isinstance(order, (Send, Clear)):
            self.to_start = None
        if isinstance(order, Send):
            absent = [server for server in self.servers if server.state is not State.RUNNING]
            self.ended += [Exited(rank, 0) for server in absent for rank in server.ranks]
        self.is_clearing = self.is_clearing or isinstance(order, Clear)
        for server in self.servers:
            if server.state is State.RUNNING:
                server.tell(order)

    def logs(self, attempt: int) -> str:
        """The log folder of a start."""
        return self.servers[0].assignment.logs(attempt)

    def events(self) -> Iterator[Event]:
        """What has happened since the last call."""
        self._connect()
        ended, self.ended = self.ended, []
        yield from ended
        news = [*self.news.values()]
        self.news.clear()
        for server in news:
            for sent in server.connection.take() if server.is_connected else ():
                yield from self._receive(server, sent)
            if server.connection.lost and server.is_connected:
                why = Message(
                    "launch.lost",
                    "error: server {server} does not answer or was lost: {reason}",
                    server=server.name,
                    reason=server.connection.lost,
                )
                yield self._lose(server, why)
        if self.to_start is not None and all(server.state is State.READY for server in self.servers):
            self.servers[0].start(self.to_start, None)  # it says the port to the others
        self._give_signs()
        if self.hung and time.monotonic() - self.hung_since > SETTLE:
            yield min(self.hung, key=lambda hung: hung.step)
            self.hung = []
        if self.is_clearing and not any(server.state is State.RUNNING for server in self.servers):
            self.is_clearing = False
            yield _together(self.gone)

    def failure(self, cause: Exited | Hung) -> str:
        """What is said of a job that has failed, by the server of the rank."""
        rank = report.blamed(cause)
        server = next(server for server in self.servers if rank in server.ranks)
        return server.describe(cause, self.selector, is_shown=self.screen.ends_with(rank))

    def finish(self) -> None:
        """Tell all servers that the job is over, and close the connections."""
        connected = [server for server in self.servers if server.is_connected]
        for server in connected:
            server.tell(End())
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and not all(server.connection.lost for server in connected):
            wait(self.selector)
        for server in connected:
            server.connection.close()

    def _connect(self) -> None:
        """Connect the next servers; a job that ends connects no more."""
        begun = sum(server.state is State.CONNECTING for server in self.servers)
        waiting = [server for server in self.servers if server.state is State.WAITING]
        for server in waiting[: AT_ONCE - begun] if self.to_start is not None else ():
            server.connection = self.connect(server, self.selector)
            server.connection.tell_news = partial(self.news.__setitem__, server.number, server)
            server.state = State.CONNECTING

    def _receive(self, server: Server, line: Report) -> Iterator[Event]:
        if isinstance(line, Ready):
            server.state, server.has_logs = State.READY, not line.is_here
        elif isinstance(line, Refused):
            yield self._lose(server, KitError(clean(line.text)).render())
        elif isinstance(line, Started) and server.number == 0 and self.to_start is not None:
            for other in self.servers[1:]:
                other.start(self.to_start, line.port)
            self.to_start = None
            if len(self.servers) > MOST_SHOWN:
                number = len(self.servers) - MOST_SHOWN
                more = Message("launch.more-servers", "and {number} more servers", number=number)
                self.screen.say(f"{translated(more)}\n", OUT)
        elif isinstance(line, Exited):
            if line.rank in server.ranks:
                yield line
        elif isinstance(line, Hung):
            if server.ranks.issuperset(line.ranks):
                self.hung_since = self.hung_since if self.hung else time.monotonic()
                self.hung.append(line)
        elif isinstance(line, Gone):
            server.state = State.READY
            if line.first is None or line.first.rank in server.ranks:
                self.gone.append((time.monotonic() - line.age, line))
        else:
            _show(self.screen, server, line)

    def _lose(self, server: Server, why: str) -> Lost:
        self.lost_ranks = self.lost_ranks or server.state is State.RUNNING
        server.state, server.has_logs = State.LOST, False
        server.connection.close()
        self.lost.append(server.number)
        return Lost(f"{translated(why)}\n", f"lost {server.name} {' '.join(map(str, sorted(server.ranks)))}")

    def _give_signs(self) -> None:
        """Tell connected servers that the job goes on, and look whether they still answer."""
        now = time.monotonic()
        if now - self.told > SIGN:
            self.told = now
            for server in self.servers:
                server.tell(None)
                if server.is_connected:
                    server.connection.check()


def _together(gone: Sequence[tuple[float, Gone]]) -> Gone:
    """The furthest step on any server, and the rank that failed first by what it wrote."""
    steps = [end.step for _, end in gone if end.step is not None]
    failed = [(when, end.first) for when, end in gone if end.first]
    return Gone(max(steps, default=None), min(failed)[1] if failed else None)


def _show(screen: Screen, server: Server, line: Report) -> None:
    """Show what a rank prints, and what an agent says."""
    if isinstance(line, Output) and line.rank in server.ranks:
        screen.show(line.rank, line.data)
    elif isinstance(line, Said) and (line.to != OUT or server.number < MOST_SHOWN):
        screen.say(clean(line.text), line.to)
