"""The loop of a job: processes, signals and clocks become events of the job, its actions are carried out."""

from __future__ import annotations

import os
import selectors
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from hccl_kit.agent import job, report
from hccl_kit.agent.job import Due, Lost, Signalled, State, Tell
from hccl_kit.agent.lines import Note, PassOn
from hccl_kit.agent.screen import Screen
from hccl_kit.agent.server import Server
from hccl_kit.agent.texts import phrase

if TYPE_CHECKING:
    from hccl_kit.agent.assignment import Assignment
    from hccl_kit.agent.job import Action, Event, Exited, Hung, Job
    from hccl_kit.agent.lines import Order

SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
PASSED_ON = (signal.SIGUSR1, signal.SIGUSR2)
"""Signals that programs take for stacks and checkpoints, and that end no job."""


class Edge(Protocol):
    """Where the ranks are: on this server (`Server`), or on several."""

    @property
    def pause(self) -> float:
        """Seconds until the next call of `events`, if nothing happens."""

    def obey(self, order: Order) -> object:
        """Do this with all ranks."""

    def events(self) -> Iterator[Event]:
        """What has happened since the last call."""

    def failure(self, cause: Exited | Hung) -> str:
        """What is said of a job that has failed."""

    def logs(self, attempt: int) -> str:
        """The log folder of a start."""


def supervise(assignment: Assignment, objection: Callable[[Job], str] | None = None) -> Job:
    """Run the job of one server; returns it when it is over, and all is said.

    `objection` says why a job that has failed is not started again, "" if it may be; signals wait for it. Raises
    PortError if the given port is in use, and OSError if a log cannot be made, before anything was started.
    """
    with signals() as arrived, selectors.DefaultSelector() as selector:
        screen = Screen(assignment.texts)
        server = Server(assignment.here(os.environ), selector, screen)
        ranks = frozenset(rank.rank for rank in assignment.ranks)
        supervisor = Supervisor(arrived, selector, screen)
        most, asks = assignment.limits.max_restarts, objection is not None
        now = supervisor.run(server, *job.begin(ranks, most, grace=assignment.grace, asks=asks))
        while objection and now.state is State.UNDECIDED:
            now = supervisor.run(server, *supervisor.decided(now, objection(now)))
        return now


class Supervisor:
    """The clock, and the signals in the pipe `arrived`; `run` looks after one job, in the language of the screen.

    What is registered with `selector` has a function without arguments as its data, which is called when it is ready.
    """

    edge: Edge

    def __init__(self, arrived: int, selector: selectors.BaseSelector, screen: Screen) -> None:
        self.arrived = arrived
        self.signalled: list[Signalled] = []
        self.selector = selector
        self.selector.register(arrived, selectors.EVENT_READ, self._read_signals)
        self.screen = screen

    def run(self, edge: Edge, now: Job, actions: tuple[Action, ...]) -> Job:
        """Look after a job from `job.begin` or `decided` until it is over, or UNDECIDED."""
        self.edge = edge
        self._do(now, actions)
        while now.state not in (State.OVER, State.UNDECIDED):
            for event in self._events(now):
                before = now
                now, actions = job.after(before, event, time.monotonic())
                for words in report.notes_of(now.cause) if now.cause and not before.cause else ():
                    self.edge.obey(Note(words))
                self._do(now, actions)
        self.screen.finish()
        return now

    def decided(self, now: Job, objection: str) -> tuple[Job, tuple[Action, ...]]:
        """An UNDECIDED job and what is to be done now: a restart, unless there is an objection, which is said."""
        if not objection:
            return job.restart(now, time.monotonic())
        self.screen.say(phrase(self.screen.texts, "agent.not-restarted", reason=objection) + "\n")
        return now._replace(state=State.OVER), ()

    def wait(self, seconds: float) -> Signalled | None:
        """Wait, or until a signal has arrived, which is returned."""
        end = time.monotonic() + seconds
        while not self.signalled and time.monotonic() < end:
            for key, _ in self.selector.select(end - time.monotonic()):
                key.data()
        return self.signalled.pop(0) if self.signalled else None

    def _events(self, now: Job) -> Iterator[Event]:
        """Wait, then what has happened."""
        for key, _ in self.selector.select(min(self.edge.pause, max(0.0, now.deadline - time.monotonic()))):
            key.data()
        arrived, self.signalled = self.signalled, []
        yield from arrived
        yield from self.edge.events()
        if time.monotonic() >= now.deadline:
            yield Due()

    def _read_signals(self) -> None:
        for number in os.read(self.arrived, 4096):
            if number in SIGNALS:
                self.signalled.append(Signalled(number))
            elif number in PASSED_ON:
                self.edge.obey(PassOn(number))

    def _do(self, now: Job, actions: tuple[Action, ...]) -> None:
        for action in actions:
            if isinstance(action, Tell):
                self.screen.say(self._text(now, action))
            else:
                self.edge.obey(action)

    def _text(self, now: Job, tell: Tell) -> str:
        if isinstance(tell.cause, Signalled):
            name, logs = signal.Signals(tell.cause.number).name, self.edge.logs(now.attempt)
            return phrase(self.screen.texts, "agent.ended", signal=name, folder=logs) + "\n"
        if isinstance(tell.cause, Lost):
            return tell.cause.text
        if tell.cause is not None:
            return self.edge.failure(tell.cause)
        return report.next_step(self.screen.texts, tell, now.max_restarts)


@contextmanager
def signals() -> Iterator[int]:
    """A descriptor from which the numbers of arriving signals are read; the handlers are restored at the end."""
    read_end, write_end = os.pipe()
    for end in (read_end, write_end):
        os.set_blocking(end, False)
    before = {number: signal.signal(number, lambda *_: None) for number in (*SIGNALS, *PASSED_ON, signal.SIGCHLD)}
    wakeup = signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    try:
        yield read_end
    finally:
        signal.set_wakeup_fd(wakeup)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(read_end)
        os.close(write_end)
