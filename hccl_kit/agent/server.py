"""The ranks of this server: the present start, what happens to it, and what is done to it."""

from __future__ import annotations

import os
import selectors
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hccl_kit.agent import report
from hccl_kit.agent.attempt import Attempt
from hccl_kit.agent.binding import NONE, Binding, binding
from hccl_kit.agent.job import Clear, Hung, Send, Start
from hccl_kit.agent.lines import Describe, Failure, Note, PassOn, Started
from hccl_kit.agent.machine import this_machine
from hccl_kit.agent.port import free_port

if TYPE_CHECKING:
    from hccl_kit.agent.assignment import Assignment
    from hccl_kit.agent.job import Event, Exited
    from hccl_kit.agent.lines import Order, Report
    from hccl_kit.agent.screen import Screen

LOOK = 0.5
"""Seconds between two looks at the steps, the guard and the ranks, whatever happens."""
SOON = 0.02
"""As LOOK, while the guard ends what is left."""


class Server:
    """`assignment` is from `here`. `is_watched`: ranks are to make progress; `is_over`: nothing is left of them."""

    attempt: Attempt

    def __init__(self, assignment: Assignment, selector: selectors.BaseSelector, screen: Screen) -> None:
        self.binding = _binding(assignment)
        self.assignment = assignment.with_threads(self.binding.fewest) if self.binding.cores else assignment
        self.selector = selector
        self.screen = screen
        self.is_watched = False
        self.is_over = True
        for name, text in assignment.files.items():
            with open(os.path.join(assignment.folder, name), "w", encoding="utf-8") as file:
                file.write(text)

    def obey(self, order: Order) -> Report | None:
        """Do this, and report what it asks for. Raises PortError or OSError if no rank can be started."""
        if isinstance(order, Start):
            port = self._port() if order.port is None else order.port
            self.attempt = Attempt(
                self.assignment, order.attempt, port, self.selector, self.screen, binding=self.binding
            )
            self.is_watched, self.is_over = True, False
            return Started(port)
        if isinstance(order, Describe):
            return Failure(self.attempt.failure(order.cause, is_shown=order.is_shown))
        if isinstance(order, Note):
            self.attempt.note(order.words)
        elif isinstance(order, Clear):
            self.is_watched = False
            self.attempt.guard.clear()
        elif isinstance(order, Send):
            for rank in self.attempt.ranks.stopped() if self.is_watched else ():  # the signal continues them
                self.attempt.note(f"stopped {rank}")
            self.is_watched = False
            self.attempt.ranks.send(order.number, to_leaders=order.to_leaders)
        elif isinstance(order, PassOn) and not self.is_over:
            self.attempt.ranks.send(order.number, to_leaders=True)
        return None

    def _port(self) -> int:
        """The port of rank 0, which must be free if it is on this server; 0: the ranks need none."""
        given = self.assignment.port
        if not self.assignment.port_name:
            return 0
        if given is not None and all(rank.rank != 0 for rank in self.assignment.ranks):
            return given
        return free_port(given, self.assignment.texts)

    @property
    def pause(self) -> float:
        """Seconds until the next call of `events`, if nothing happens."""
        return SOON if not self.is_over and self.attempt.guard.asked is not None else LOOK

    def events(self) -> Iterator[Event]:
        """What has happened since the last call."""
        if self.is_over:
            return
        attempt = self.attempt
        yield from attempt.ended()
        attempt.guard.check()
        if attempt.guard.is_done():
            self.is_over = True
            yield attempt.close()
        elif self.is_watched and self.assignment.limits.heartbeat:
            ranks, now = attempt.cards.keys() - attempt.ranks.exited, time.monotonic()
            hung = attempt.progress.still(ranks, now)
            if hung:
                yield Hung(*hung)
            elif 0 in ranks and attempt.progress.is_blind(now):  # one server of the job says it
                self.screen.say(report.no_steps(self.assignment.texts, self.assignment.limits.heartbeat))

    def failure(self, cause: Exited | Hung) -> str:
        """What is said of a job that has failed."""
        return self.attempt.failure(cause, is_shown=self.screen.ends_with(report.blamed(cause)))

    def logs(self, attempt: int) -> str:
        """The log folder of a start."""
        return self.assignment.logs(attempt)


def _binding(assignment: Assignment) -> Binding:
    if assignment.limits.bind == NONE:
        return Binding({}, "")
    cards = [rank.card for rank in assignment.ranks]
    return binding(assignment.limits.bind, cards, this_machine(assignment.environ), assignment.texts)
