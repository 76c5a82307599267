"""The ranks of all servers, for the loop of the job: what one agent does for its server, done by one on each."""

from __future__ import annotations

import selectors
import time
from collections.abc import Callable, Iterator, Sequence
from enum import Enum

from hccl_kit.agent import report
from hccl_kit.agent.assignment import Assignment
from hccl_kit.agent.job import Cause, Clear, Event, Exited, Gone, Hung, Lost, Send
from hccl_kit.agent.lines import (
    SIGN,
    At,
    Describe,
    End,
    Failure,
    Left,
    Note,
    Order,
    Output,
    PassOn,
    Ready,
    Refused,
    Report,
    Said,
    Started,
)
from hccl_kit.agent.screen import OUT, Screen
from hccl_kit.base.terminal import clean
from hccl_kit.launch.servers.connection import Connection

AT_ONCE = 64
"""Connections that are being made at a time; each is a process that computes keys."""
SETTLE = 1.0
"""Seconds in which further servers may report that their ranks make no progress: the lowest step is to blame."""
LOOK, SOON = 0.5, 0.05
"""Seconds between two looks, and while servers start or end."""
MOST_SHOWN = 8
"""Servers that say which ranks they start."""
PATIENCE = 5.0
"""Seconds in which a server must describe its failure, or end."""


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

    connection: Connection

    def __init__(self, number: int, assignment: Assignment) -> None:
        self.number = number
        self.assignment = assignment
        self.name = assignment.host
        self.ranks = frozenset(rank.rank for rank in assignment.ranks)
        self.state = State.WAITING
        self.has_logs = False
        self.failure: str | None = None

    @property
    def is_connected(self) -> bool:
        """Whether it can be told something."""
        return self.state not in (State.WAITING, State.LOST)


class Servers:
    """The ranks of `assignments`, one for each server; `connect` reaches the server of an assignment.

    `lost` are the servers that do not answer any more or refused to start, in this order, `lost_ranks`: when the last
    that had ranks was lost, by the monotonic clock; None if none was.
    """

    def __init__(
        self,
        assignments: Sequence[Assignment],
        connect: Callable[[Assignment, selectors.BaseSelector], Connection],
        selector: selectors.BaseSelector,
        screen: Screen,
    ) -> None:
        self.servers = [Server(number, assignment) for number, assignment in enumerate(assignments)]
        self.connect = connect
        self.selector = selector
        self.screen = screen
        self.to_start: int | None = None
        self.is_clearing = False
        self.lost: list[int] = []
        self.lost_ranks: float | None = None
        self.step: int | None = None
        self.written: tuple[float, Exited] | None = None
        self.ended: list[Exited] = []
        self.hung: list[Hung] = []
        self.hung_since = 0.0
        self.told = time.monotonic()

    @property
    def pause(self) -> float:
        """Seconds until the next call of `events`, if nothing happens."""
        return SOON if self.is_clearing or self.hung or self.ended else LOOK

    def start(self, attempt: int) -> None:
        """Start all ranks, when all servers are ready."""
        self.to_start, self.is_clearing = attempt, False
        self.step = self.written = None
        self.hung = []

    def send(self, number: int, *, to_leaders: bool = False) -> None:
        """Send a signal to every process of the ranks, or to the ranks themselves."""
        self.to_start = None
        absent = [server for server in self.servers if server.state is not State.RUNNING]
        self.ended += [Exited(rank, 0) for server in absent for rank in server.ranks]
        self._tell(Send(number, to_leaders))

    def pass_on(self, number: int) -> None:
        """Send a signal of the user to the ranks themselves; the job goes on."""
        self._tell(PassOn(number))

    def clear(self) -> None:
        """End whatever the ranks have started; Gone comes when nothing is left."""
        self.to_start, self.is_clearing = None, True
        self._tell(Clear())

    def note(self, cause: Cause) -> None:
        """Note that whatever ends from now on is ended by the job."""
        self._tell(Note(report.ending(cause)))

    def logs(self, attempt: int) -> str:
        """The log folder of a start."""
        return self.servers[0].assignment.logs(attempt)

    def events(self) -> Iterator[Event]:
        """What has happened since the last call."""
        self._connect()
        ended, self.ended = self.ended, []
        yield from ended
        for server in self.servers:
            if server.is_connected:
                for told in server.connection.take():
                    yield from self._receive(server, told)
                if server.connection.lost and server.state is not State.LOST:
                    why = f"error: server {server.name} does not answer or was lost: {server.connection.lost}\n"
                    yield self._lose(server, why)
        self._start_first()
        self._give_signs()
        if self.hung and time.monotonic() - self.hung_since > SETTLE:
            yield min(self.hung, key=lambda hung: hung.step)
            self.hung = []
        if self.is_clearing and not any(server.state is State.RUNNING for server in self.servers):
            self.is_clearing = False
            yield Gone(self.step, self.written[1] if self.written else None)

    def failure(self, cause: Exited | Hung) -> str:
        """What is said of a job that has failed, by the server of the rank."""
        rank = report.blamed(cause)
        server = next(server for server in self.servers if rank in server.ranks)
        if server.is_connected:
            server.failure = None
            server.connection.tell(Describe(cause, self.screen.ends_with(rank)))
            end = time.monotonic() + PATIENCE
            while server.failure is None and not server.connection.lost and time.monotonic() < end:
                for key, _ in self.selector.select(SOON):
                    key.data()
                for told in server.connection.take():
                    server.failure = told.text if isinstance(told, Failure) else server.failure
        if server.failure is not None:
            return clean(server.failure)
        cards = {row.rank: row.card for row in server.assignment.ranks}
        log = f"{self.logs(0)}/rank_{rank}.log of {server.name}"
        return report.failure(cause, cards, server.name, server.assignment.heartbeat, report.End(log, ()))

    def finish(self) -> None:
        """Tell all servers that the job is over, and close the connections."""
        open_now = [server for server in self.servers if server.is_connected]
        for server in open_now:
            server.connection.tell(End())
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and not all(server.connection.lost for server in open_now):
            for key, _ in self.selector.select(SOON):
                key.data()
        for server in open_now:
            server.connection.close()

    def _connect(self) -> None:
        """Connect the next servers; a job that ends connects no more."""
        connecting = sum(server.state is State.CONNECTING for server in self.servers)
        waiting = [server for server in self.servers if server.state is State.WAITING]
        for server in waiting[: AT_ONCE - connecting] if self.to_start is not None else ():
            server.connection = self.connect(server.assignment, self.selector)
            server.state = State.CONNECTING

    def _receive(self, server: Server, told: Report) -> Iterator[Event]:
        if isinstance(told, Ready):
            server.state, server.has_logs = State.READY, not told.is_here
        elif isinstance(told, Refused):
            yield self._lose(server, f"error: {clean(told.text)}\n")
        elif isinstance(told, Started) and server.number == 0 and self.to_start is not None:
            for other in self.servers[1:]:
                self._start(other, told.port)
            self.to_start = None
            if len(self.servers) > MOST_SHOWN:
                self.screen.say(f"and {len(self.servers) - MOST_SHOWN} more servers\n", OUT)
        elif isinstance(told, Exited):
            if told.rank in server.ranks:
                yield told
        elif isinstance(told, Hung):
            self._note_hang(server, told)
        elif isinstance(told, Left):
            self._note_end(server, told)
        else:
            self._show(server, told)

    def _show(self, server: Server, told: Report) -> None:
        """Show what a rank prints, and what an agent says."""
        if isinstance(told, Output) and told.rank in server.ranks:
            self.screen.show(told.rank, told.data)
        elif isinstance(told, Said) and (told.to != OUT or server.number < MOST_SHOWN):
            self.screen.say(clean(told.text), told.to)

    def _start(self, server: Server, port: int | None) -> None:
        if self.to_start is not None and server.state is State.READY:
            server.connection.tell(At(self.to_start, port))
            server.state = State.RUNNING

    def _start_first(self) -> None:
        """Start the ranks of the first server, which says the port to the others, when all are ready."""
        if self.to_start is not None and all(server.state is State.READY for server in self.servers):
            self._start(self.servers[0], None)

    def _note_hang(self, server: Server, told: Hung) -> None:
        if not self.hung:
            self.hung_since = time.monotonic()
        if server.ranks.issuperset(told.ranks):
            self.hung.append(told)

    def _note_end(self, server: Server, told: Left) -> None:
        if server.state is not State.LOST:
            server.state = State.READY
        if told.gone.step is not None:
            self.step = max(self.step or 0, told.gone.step)
        first = told.gone.first
        if first and first.rank in server.ranks:
            when = time.monotonic() - told.age
            if self.written is None or when < self.written[0]:
                self.written = (when, first)

    def _lose(self, server: Server, text: str) -> Lost:
        if server.state is State.RUNNING:
            self.lost_ranks = time.monotonic()
        server.state, server.has_logs = State.LOST, False
        server.connection.close()
        self.lost.append(server.number)
        return Lost(server.number, text)

    def _tell(self, order: Order) -> None:
        for server in self.servers:
            if server.state is State.RUNNING:
                server.connection.tell(order)

    def _give_signs(self) -> None:
        now = time.monotonic()
        if now - self.told > SIGN:
            self.told = now
            for server in self.servers:
                if server.is_connected:
                    server.connection.tell(None)
