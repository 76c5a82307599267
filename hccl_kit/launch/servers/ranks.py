"""The ranks of all servers, for the loop of the job: what one agent does for its server, done by one on each."""

from __future__ import annotations

import selectors
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from hccl_kit.agent import report
from hccl_kit.agent.assignment import Assignment
from hccl_kit.agent.job import Cause, Clear, Event, Exited, Gone, Hung, Lost, Send
from hccl_kit.agent.lines import (
    SIGN,
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
from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.terminal import clean
from hccl_kit.base.translation import translated
from hccl_kit.launch.servers.connection import Connection
from hccl_kit.launch.servers.server import SOON, Server, State, finish

AT_ONCE = 64
"""Connections that are being made at a time; each is a process that computes keys."""
SETTLE = 1.0
"""Seconds in which further servers may report that their ranks make no progress: the lowest step is to blame."""
LOOK = 0.5
"""Seconds between two looks, if no server starts or ends."""
MOST_SHOWN = 8
"""Servers that say which ranks they start."""


class Hangs:
    """Servers whose ranks make no progress; after SETTLE the lowest step is to blame."""

    def __init__(self) -> None:
        self.reports: list[Hung] = []
        self.since = 0.0

    def add(self, report: Hung) -> None:
        """A server reports ranks without progress."""
        if not self.reports:
            self.since = time.monotonic()
        self.reports.append(report)

    def settled(self) -> Iterator[Hung]:
        """The report that counts, once, if it is time."""
        if self.reports and time.monotonic() - self.since > SETTLE:
            yield min(self.reports, key=lambda hung: hung.step)
            self.reports = []


class Remains:
    """What the ranks of all servers have left: the furthest step, and the rank that failed first by what it wrote."""

    def __init__(self) -> None:
        self.step: int | None = None
        self.first: Exited | None = None
        self.when = 0.0

    def add(self, left: Left) -> None:
        """Nothing is left of the ranks of a server."""
        if left.gone.step is not None:
            self.step = max(self.step or 0, left.gone.step)
        when = time.monotonic() - left.age
        if left.gone.first and (self.first is None or when < self.when):
            self.first, self.when = left.gone.first, when


class Servers:
    """The ranks of `assignments`, one for each server; `connect` reaches a server.

    `lost` are the servers that do not answer any more or refused to start, in this order, `lost_ranks`: when the last
    that had ranks was lost, by the monotonic clock; None if none was.
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
        self.waiting = deque(self.servers)
        self.connecting: set[int] = set()
        self.news: dict[int, Server] = {}
        self.to_start: int | None = None
        self.is_clearing = False
        self.lost: list[int] = []
        self.lost_ranks: float | None = None
        self.ended: list[Exited] = []
        self.hangs = Hangs()
        self.remains = Remains()
        self.told = time.monotonic()

    @property
    def pause(self) -> float:
        """Seconds until the next call of `events`, if nothing happens."""
        return SOON if self.is_clearing or self.hangs.reports or self.ended else LOOK

    def start(self, attempt: int) -> None:
        """Start all ranks, when all servers are ready."""
        self.to_start, self.is_clearing = attempt, False
        self.hangs, self.remains = Hangs(), Remains()

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
        """Note which server was lost, and that whatever ends from now on is ended by the job."""
        if isinstance(cause, Lost):
            self._tell(Note(self.servers[cause.server].note_of_loss))
        self._tell(Note(report.ending(cause)))

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
            for told in server.connection.take() if server.is_connected else ():
                yield from self._receive(server, told)
            if server.connection.lost and server.is_connected:
                yield self._lose(server, server.reason_of_loss)
        if self.to_start is not None and all(server.state is State.READY for server in self.servers):
            self.servers[0].start(self.to_start, None)  # it says the port to the others
        self._give_signs()
        yield from self.hangs.settled()
        if self.is_clearing and not any(server.state is State.RUNNING for server in self.servers):
            self.is_clearing = False
            yield Gone(self.remains.step, self.remains.first)

    def failure(self, cause: Exited | Hung) -> str:
        """What is said of a job that has failed, by the server of the rank."""
        rank = report.blamed(cause)
        server = next(server for server in self.servers if rank in server.ranks)
        return server.describe(cause, self.selector, is_shown=self.screen.ends_with(rank))

    def finish(self) -> None:
        """Tell all servers that the job is over, and close the connections."""
        finish(self.servers, self.selector)

    def _connect(self) -> None:
        """Connect the next servers; a job that ends connects no more."""
        while self.to_start is not None and self.waiting and len(self.connecting) < AT_ONCE:
            server = self.waiting.popleft()
            self.connecting.add(server.number)
            server.connection = self.connect(server, self.selector)
            server.connection.tell_news = partial(self.news.__setitem__, server.number, server)
            server.state = State.CONNECTING

    def _receive(self, server: Server, told: Report) -> Iterator[Event]:
        if isinstance(told, Ready):
            server.state, server.has_logs = State.READY, not told.is_here
            self.connecting.discard(server.number)
        elif isinstance(told, Refused):
            yield self._lose(server, KitError(clean(told.text)).render())
        elif isinstance(told, Started) and server.number == 0 and self.to_start is not None:
            for other in self.servers[1:]:
                other.start(self.to_start, told.port)
            self.to_start = None
            if len(self.servers) > MOST_SHOWN:
                number = len(self.servers) - MOST_SHOWN
                more = Message("launch.more-servers", "and {number} more servers", number=number)
                self.screen.say(f"{translated(more)}\n", OUT)
        elif isinstance(told, Exited):
            if told.rank in server.ranks:
                yield told
        elif isinstance(told, Hung):
            if server.ranks.issuperset(told.ranks):
                self.hangs.add(told)
        elif isinstance(told, Left):
            server.state = State.READY
            if told.gone.first is None or told.gone.first.rank in server.ranks:
                self.remains.add(told)
        else:
            _show(self.screen, server, told)

    def _lose(self, server: Server, why: str) -> Lost:
        if server.state is State.RUNNING:
            self.lost_ranks = time.monotonic()
        server.state, server.has_logs = State.LOST, False
        self.connecting.discard(server.number)
        server.connection.close()
        self.lost.append(server.number)
        return Lost(server.number, f"{translated(why)}\n")

    def _tell(self, order: Order) -> None:
        for server in self.servers:
            if server.state is State.RUNNING:
                server.tell(order)

    def _give_signs(self) -> None:
        now = time.monotonic()
        if now - self.told > SIGN:
            self.told = now
            for server in self.servers:
                server.give_sign()


def _show(screen: Screen, server: Server, told: Report) -> None:
    """Show what a rank prints, and what an agent says."""
    if isinstance(told, Output) and told.rank in server.ranks:
        screen.show(told.rank, told.data)
    elif isinstance(told, Said) and (told.to != OUT or server.number < MOST_SHOWN):
        screen.say(clean(told.text), told.to)
