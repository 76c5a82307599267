"""One server of a job: its assignment, what it does, and its connection."""

from __future__ import annotations

import selectors
import time
from enum import Enum

from hccl_kit.agent import report
from hccl_kit.agent.assignment import Assignment
from hccl_kit.agent.job import Exited, Hung, Start
from hccl_kit.agent.lines import LIFE, Describe, Failure, Order, Report, line
from hccl_kit.agent.texts import phrase
from hccl_kit.base.terminal import clean
from hccl_kit.launch.servers.connection import Connection

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

    def give_sign(self) -> None:
        """Tell a connected server that the job goes on, and look whether it still answers."""
        if self.is_connected:
            self.tell(None)
            self.connection.check()

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
