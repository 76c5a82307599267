"""The loop of the agent: processes, signals and clocks become events of the job, its actions are carried out."""

from __future__ import annotations

import os
import selectors
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hccl_kit.agent import job, report
from hccl_kit.agent.attempt import Attempt
from hccl_kit.agent.job import Clear, Due, Exited, Hung, Send, Signalled, Start, State, Tell
from hccl_kit.agent.screen import Screen

if TYPE_CHECKING:
    from hccl_kit.agent.assignment import Assignment
    from hccl_kit.agent.job import Action, Cause, Event, Job

SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
LOOK = 0.5
"""Seconds between two looks at the steps, the guard and the ranks, whatever happens."""
SOON = 0.02
"""As LOOK, while the guard ends what is left."""


def supervise(assignment: Assignment, *, facts: tuple[str, ...] = ()) -> Job:
    """Run the job; returns it when it is over, and all is said. `facts` stand in the line at the start.

    Raises PortError if the given port is in use, and OSError if a log cannot be made, before anything was started.
    """
    with _signals() as arrived, selectors.DefaultSelector() as selector:
        return Supervisor(assignment, arrived, selector, facts).run()


class Supervisor:
    """The edge of one job: the clock, the signals in the pipe `arrived`, and the present start of the ranks."""

    attempt: Attempt

    def __init__(
        self, assignment: Assignment, arrived: int, selector: selectors.BaseSelector, facts: tuple[str, ...]
    ) -> None:
        self.assignment = assignment
        self.facts = facts
        self.arrived = arrived
        self.selector = selector
        self.selector.register(arrived, selectors.EVENT_READ)
        self.screen = Screen()

    def run(self) -> Job:
        """Start the ranks and look after them until the job is over."""
        ranks = frozenset(rank.rank for rank in self.assignment.ranks)
        now, actions = job.begin(ranks, self.assignment.max_restarts)
        self._do(actions)
        while now.state is not State.OVER:
            for event in self._events(now):
                before = now
                now, actions = job.after(before, event, time.monotonic())
                if now.cause and not before.cause:
                    self.attempt.note(ending(now.cause))
                self._do(actions)
        self.screen.finish()
        return now

    def _events(self, now: Job) -> Iterator[Event]:
        """Wait, then what has happened."""
        guard = self.attempt.guard
        is_clearing = now.state is State.ENDING and guard.asked is not None
        wait = min(SOON if is_clearing else LOOK, max(0.0, now.deadline - time.monotonic()))
        for key, _ in self.selector.select(wait):
            if key.fd != self.arrived:
                self.attempt.ranks.listen(key.data)
                continue
            for number in os.read(self.arrived, 4096):
                if number in SIGNALS:
                    yield Signalled(number)
        if now.state is not State.PAUSING:
            yield from self.attempt.ended()
            guard.check()
            if is_clearing and guard.is_done():
                yield self.attempt.close(now.cause)
            elif now.state is State.RUNNING and self.assignment.heartbeat:
                stopped = self.attempt.progress.still(now.running - self.attempt.ranks.exited, time.monotonic())
                if stopped:
                    yield Hung(*stopped)
        if time.monotonic() >= now.deadline:
            yield Due()

    def _do(self, actions: tuple[Action, ...]) -> None:
        for action in actions:
            if isinstance(action, Start):
                self.attempt = Attempt(self.assignment, action.attempt, self.selector, self.screen, self.facts)
            elif isinstance(action, Send):
                self.attempt.ranks.send(action.number, to_leaders=action.to_leaders)
            elif isinstance(action, Clear):
                self.attempt.guard.clear()
            else:
                self.screen.say(self._text(action))

    def _text(self, tell: Tell) -> str:
        if isinstance(tell.cause, Signalled):
            return report.ended_by(tell.cause.number, self.attempt.folder)
        if tell.cause is not None:
            return self.attempt.failure(tell.cause)
        return report.next_step(tell, self.assignment.max_restarts)


def ending(cause: Cause) -> str:
    """The note that whatever ends from now on was ended by the agent; `gone` stands for the user."""
    if isinstance(cause, Exited):
        return f"ending rank {cause.rank} {cause.code}"
    if isinstance(cause, Hung):
        return f"ending hang {cause.ranks[0]} {job.HUNG}"
    return f"ending gone -1 {job.exit_code(cause)}"


@contextmanager
def _signals() -> Iterator[int]:
    """A descriptor from which the numbers of arriving signals are read; the handlers are restored at the end."""
    read_end, write_end = os.pipe()
    for end in (read_end, write_end):
        os.set_blocking(end, False)
    before = {number: signal.signal(number, lambda *_: None) for number in (*SIGNALS, signal.SIGCHLD)}
    wakeup = signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    try:
        yield read_end
    finally:
        signal.set_wakeup_fd(wakeup)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(read_end)
        os.close(write_end)
