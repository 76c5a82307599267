"""The guard: ends every process of a job once its standard input is closed, by the agent or by the agent's death.

It is a process of its own, in a session of its own, started with the text of this file. It reads the process ids of the
ranks, each on a line. At the end it looks for processes that have MARK in their environment, or are in the session of
a rank, sends them SIGTERM, after a while SIGKILL, and ends when none is left.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

GRACE = 0.8
"""Seconds from SIGTERM to SIGKILL."""
PATIENCE = 3.0
"""Seconds after SIGKILL; a process that is still there hangs in a driver."""
QUIET = 0.05
"""Seconds in which no process may be found, at the end: one may be about to start another."""
MAX_ENVIRON = 4 << 20
"""Bytes of an environment that are searched; Linux allows a quarter of the stack, 2 MiB by default."""


class Process(NamedTuple):
    """A line of /proc/PID/stat: its session, and when it was started, in ticks since the host was."""

    pid: int
    state: str
    session: int
    started: int


def process(pid: int) -> Process | None:
    """The facts of the kernel about a process; None if it has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()  # the name before it may hold anything
        return Process(pid, fields[0].decode(), int(fields[3]), int(fields[19]))
    except (OSError, IndexError, ValueError):
        return None


def all_processes() -> Iterator[Process]:
    """Every process of this host."""
    for name in os.listdir("/proc"):
        entry = process(int(name)) if name.isdigit() else None
        if entry is not None:
            yield entry


def processes(mark: bytes, sessions: dict[int, int]) -> Iterator[int]:
    """The processes of the job: those in `sessions` (of a rank -> when the rank was started) and those with `mark`."""
    guard = os.getpid()
    for entry in all_processes():
        if entry.pid == guard or entry.state in "ZX":
            continue
        leader = process(entry.session) if entry.session in sessions else None
        if (entry.session in sessions and (leader is None or leader.started == sessions[entry.session])) or has_mark(
            entry.pid, mark
        ):
            yield entry.pid


def has_mark(pid: int, mark: bytes) -> bool:
    """Whether this variable is in the environment with which the process was started."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return mark in file.read(MAX_ENVIRON).split(b"\0")
    except OSError:  # it has ended, or belongs to another user
        return False


def end(mark: bytes, sessions: dict[int, int]) -> None:
    """End all processes of the job."""
    began = quiet = time.monotonic()
    asked: set[int] = set()
    while time.monotonic() - began < GRACE + PATIENCE:
        running = set(processes(mark, sessions))
        if time.monotonic() - began > GRACE:
            for pid in running:
                send(pid, signal.SIGKILL)
        else:
            for pid in running - asked:
                send(pid, signal.SIGTERM)
                send(pid, signal.SIGCONT)  # one that is stopped hears nothing else
            asked |= running
        if running:
            quiet = time.monotonic()
        elif time.monotonic() - quiet > QUIET:
            return
        time.sleep(0.02)


def send(pid: int, number: int) -> None:
    """Send a signal to a process that may have ended."""
    with contextlib.suppress(OSError):
        os.kill(pid, number)


def main(arguments: list[str]) -> None:
    """`MARK`: wait for the end of standard input, then end the job."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    sessions = {}
    for line in sys.stdin.buffer:
        rank = process(int(line))
        if rank is not None:
            sessions[rank.pid] = rank.started
    end(os.fsencode(arguments[0]), sessions)


if __name__ == "__main__":
    main(sys.argv[1:])
