"""The processes of the ranks in one start: started, listened to, signalled, and reaped when nothing of them is left."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from hccl_kit.agent.assignment import AssignedRank
from hccl_kit.agent.guard import all_processes
from hccl_kit.agent.job import Exited
from hccl_kit.agent.output import CHUNK

NOT_FOUND, NOT_EXECUTABLE = 127, 126
"""Exit codes of a shell whose command is not there, or cannot be executed."""


class Ranks:
    """The ranks of this start. `show` gets what a rank prints.

    A rank leads a session of its own. It is reaped at the very end: until then no other process can have its number, so
    a signal to its group reaches no stranger.
    """

    def __init__(self, selector: selectors.BaseSelector, show: Callable[[int, bytes], None]) -> None:
        self.selector = selector
        self.show = show
        self.running: dict[int, subprocess.Popen[bytes]] = {}
        self.exited: set[int] = set()
        self.not_started: list[Exited] = []

    def start(
        self, rank: AssignedRank, command: Iterable[str], environ: dict[str, str], cores: frozenset[int] | None = None
    ) -> int | None:
        """Start a rank, on these cores only if there are any; returns its process id.

        None if the command cannot be executed, which is an exit.
        """
        try:
            with _bound(cores):
                process = subprocess.Popen(
                    list(command),
                    env=environ,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    bufsize=0,
                    start_new_session=True,
                )
        except OSError as error:
            self.show(rank.rank, _why(error, next(iter(command))).encode("utf-8", "backslashreplace"))
            code = NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE
            self.not_started.append(Exited(rank.rank, code))
            return None
        self.running[rank.rank] = process
        pipe = self._pipe(rank.rank)
        os.set_blocking(pipe.fileno(), False)
        self.selector.register(pipe, selectors.EVENT_READ, lambda: self.listen(rank.rank))
        return process.pid

    def listen(self, rank: int) -> None:
        """Pass on what a rank has printed."""
        pipe = self._pipe(rank)
        try:
            data = os.read(pipe.fileno(), CHUNK)
        except BlockingIOError:
            return
        if data:
            self.show(rank, data)
        else:  # all who could write have ended
            self.selector.unregister(pipe)

    def ended(self) -> list[Exited]:
        """The ranks that have ended since the last call. What was killed comes first: others fail because of it."""
        exited, self.not_started = self.not_started, []
        for rank, process in self.running.items():
            if rank in self.exited:
                continue
            status = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if status is not None:
                self.exited.add(rank)
                is_code = status.si_code == os.CLD_EXITED
                exited.append(Exited(rank, status.si_status if is_code else 128 + status.si_status))
        return sorted(exited, key=lambda event: event.code <= 128)

    def stopped(self) -> list[int]:
        """The ranks of which a process is stopped, as by SIGSTOP or a debugger."""
        sessions = {entry.session for entry in all_processes() if entry.state in "Tt"}
        return [rank for rank, process in self.running.items() if process.pid in sessions]

    def send(self, number: int, *, to_leaders: bool = False) -> None:
        """Send a signal to every process of the ranks, or to the ranks themselves; a stopped one is continued."""
        for process in self.running.values():
            send = os.kill if to_leaders else os.killpg
            with suppress(OSError):  # all have ended
                send(process.pid, number)
                if number != signal.SIGUSR1:
                    send(process.pid, signal.SIGCONT)

    def close(self) -> None:
        """Pass on the rest of the output, and reap the ranks."""
        for rank, process in self.running.items():
            pipe = self._pipe(rank)
            while pipe in self.selector.get_map():
                self.listen(rank)
                if not _has_more(pipe):
                    self.selector.unregister(pipe)
            pipe.close()
            try:
                process.wait(0)
            except subprocess.TimeoutExpired:  # it hangs in a driver; its number is not used again
                process.returncode = -signal.SIGKILL

    def _pipe(self, rank: int) -> IO[bytes]:
        pipe = self.running[rank].stdout
        assert pipe
        return pipe


@contextmanager
def _bound(cores: frozenset[int] | None) -> Iterator[None]:
    """What is started here has the affinity of this thread. Raises OSError if none of the cores is there any more."""
    if cores is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _why(error: OSError, program: str) -> str:
    """A line about a command that cannot be executed."""
    is_here = isinstance(error, FileNotFoundError) and "/" not in program and Path(program).is_file()
    advice = f"; the file is here, but not on PATH: ./{program}, or python {program}" if is_here else ""
    return f"cannot start: {error}{advice}\n"


def _has_more(pipe: IO[bytes]) -> bool:
    with selectors.DefaultSelector() as now:
        now.register(pipe, selectors.EVENT_READ)
        return bool(now.select(0))
