"""The agent of one of several servers: the starter of the job tells it what to do, and hears what happens.

It reads from standard input and writes to standard output, which is the connection. When that ends, or no sign of life
comes, it ends its ranks.
"""

from __future__ import annotations

import os
import selectors
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hccl_kit.agent import run_folder
from hccl_kit.agent.assignment import MOST, read
from hccl_kit.agent.job import Clear, Exited, Gone, Hung
from hccl_kit.agent.lines import (
    LIFE,
    SIGN,
    SILENCE,
    End,
    Left,
    Lines,
    PassOn,
    Ready,
    Refused,
    Said,
    line,
    order,
    outputs,
)
from hccl_kit.agent.port import PortError
from hccl_kit.agent.screen import ERR, OUT, Screen
from hccl_kit.agent.server import Server
from hccl_kit.agent.supervise import PASSED_ON, SIGNALS, signals
from hccl_kit.agent.texts import phrase

if TYPE_CHECKING:
    from hccl_kit.agent.assignment import Assignment
    from hccl_kit.agent.job import Event
    from hccl_kit.agent.lines import Order, Report

OVER, ABANDONED = 0, 1
"""Exit codes: the job is over, and the starter was lost."""


class Reports(Screen):
    """The connection in the place of the screen: what ranks print becomes reports."""

    def note_of_gap(self) -> str:
        """The note as a report."""
        return line(Said(super().note_of_gap(), ERR)).decode()

    def show(self, rank: int, data: bytes) -> None:
        """Report what a rank prints, unless too much waits already."""
        super().show(rank, outputs(rank, data))

    def say(self, text: str, to: int = ERR) -> None:
        """Report a message for the user."""
        self.send(Said(text, to))

    def send(self, report: Report | None) -> None:
        """Send a report, or a sign of life."""
        super().say((LIFE if report is None else line(report)).decode(), OUT)


def serve() -> int:
    """Do what the starter says until the job is over; returns an exit code."""
    with signals() as arrived, selectors.DefaultSelector() as selector:
        reports = Reports()
        member = Member(selector, reports, arrived)
        try:
            code = member.run()
        except (OSError, ValueError):  # the connection was reset, or what came is not an order
            member.abandon()
            code = ABANDONED
        reports.finish()
        return code


class Member:
    """The connection at standard input, and the ranks of this server once the assignment has come."""

    server: Server

    def __init__(self, selector: selectors.BaseSelector, reports: Reports, arrived: int) -> None:
        self.selector = selector
        self.reports = reports
        self.lines = Lines(MOST)
        self.came: list[bytes] = []
        self.is_cut = False
        self.is_over = False
        self.has_ranks = False
        self.heard = self.told = time.monotonic()
        selector.register(0, selectors.EVENT_READ, self._listen)
        selector.register(arrived, selectors.EVENT_READ, partial(self._end, arrived))

    def run(self) -> int:
        """Take the assignment, then orders; report what happens."""
        while not self.is_over:
            self._wait(self.server.pause if self.has_ranks else SIGN)
            came, self.came = self.came, []
            for text in came:
                if self.has_ranks:
                    self.obey(order(text))
                elif not self.take(text):
                    return OVER
            if self.has_ranks:
                for event in self.server.events():
                    self.tell(event)
            now = time.monotonic()
            if now - self.told > SIGN:
                self.told = now
                self.reports.send(None)
            if self.is_cut or now - self.heard > SILENCE:
                self.abandon()
                return ABANDONED
        return OVER

    def take(self, text: bytes) -> bool:
        """Get ready for the assignment; False if that is not possible, which is reported."""
        try:
            assignment = read(text.decode())
            self.reports.texts = assignment.texts
            is_here = prepare(assignment)
            if is_here:
                assignment = assignment._replace(files={})
            self.server = Server(assignment.here(os.environ), self.selector, self.reports)
        except (OSError, ValueError, run_folder.UnsafeError) as error:
            self.reports.send(Refused(str(error)))
            return False
        self.has_ranks = True
        self.reports.send(Ready(is_here))
        return True

    def obey(self, order: Order) -> None:
        """Do what the starter says."""
        if isinstance(order, End):
            self.is_over = True
            return
        try:
            answer = self.server.obey(order)
        except (OSError, PortError) as error:
            answer = Refused(str(error))
        if answer:
            self.reports.send(answer)

    def tell(self, event: Event) -> None:
        """Report what has happened."""
        if isinstance(event, Gone):
            written = self.server.attempt.written
            self.reports.send(Left(event, max(0.0, time.time() - written) if written else 0.0))
        elif isinstance(event, (Exited, Hung)):
            self.reports.send(event)

    def abandon(self) -> None:
        """The starter is lost: end the ranks."""
        if self.has_ranks and not self.server.is_over:
            self.server.obey(Clear())
            while not any(isinstance(event, Gone) for event in self.server.events()):
                self._wait(self.server.pause)

    def _wait(self, seconds: float) -> None:
        for key, _ in self.selector.select(seconds):
            key.data()

    def _listen(self) -> None:
        data = os.read(0, 1 << 16)
        self.heard = time.monotonic()
        if data:
            self.came += self.lines.cut(data)
        else:
            self.is_cut = True
            self.selector.unregister(0)

    def _end(self, arrived: int) -> None:
        for number in os.read(arrived, 4096):
            if number in SIGNALS:
                self.is_cut = True
            elif number in PASSED_ON and self.has_ranks:  # Slurm has given it to all agents
                self.server.obey(PassOn(number))


def prepare(assignment: Assignment) -> bool:
    """Enter the folder of the job, and make the log folder; True if it is there, on a disk that the starter sees too.

    Raises OSError or UnsafeError.
    """
    texts, host, folder = assignment.texts, os.uname().nodename, Path(assignment.folder)
    if assignment.cwd:
        try:
            os.chdir(assignment.cwd)
        except OSError as error:
            why = phrase(texts, "agent.no-folder", host=host, folder=assignment.cwd, reason=error.strerror)
            raise OSError(why) from error
    if (folder / run_folder.STARTED_HERE).exists():
        return True
    try:
        run_folder.trusted_logs(folder.parent, lambda _: None, texts)
        folder.mkdir(mode=0o700, exist_ok=True)  # an agent that started ranks before has made it
    except OSError as error:
        why = phrase(texts, "agent.cannot-log", folder=folder, host=host, reason=error.strerror)
        raise OSError(why) from error
    return False
