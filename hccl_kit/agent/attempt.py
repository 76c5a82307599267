"""One start of the ranks: their processes, logs and guard, and what is said of it."""

from __future__ import annotations

import os
import pkgutil
import selectors
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from hccl_kit.agent import evidence, report
from hccl_kit.agent.job import Exited, Gone, Hung
from hccl_kit.agent.output import Log, Prefixed
from hccl_kit.agent.ranks import Ranks
from hccl_kit.agent.screen import OUT, Screen
from hccl_kit.agent.texts import phrase

if TYPE_CHECKING:
    from hccl_kit.agent.assignment import Assignment
    from hccl_kit.agent.binding import Binding


PYTHON = sys.executable or os.path.realpath("/proc/self/exe")
"""This Python; without PATH, as in some logins, it does not know itself."""
GUARD_PATIENCE = 8.0
"""Seconds that the guard may take at the end: longer only if it hangs in a driver itself."""


class Guarded:
    """The guard as the agent sees it: for the processes that have `mark` in their environment; started again if it was
    killed, and asked to end the job.
    """

    def __init__(self, mark: str, environ: dict[str, str]) -> None:
        name = mark.partition("=")[0]
        self.mark = mark
        self.environ = {key: value for key, value in environ.items() if key != name}
        self.pids: list[int] = []
        self.asked: float | None = None
        self.process = self._start()

    def add(self, pid: int) -> None:
        """A rank was started."""
        self.pids.append(pid)
        self._tell(pid)

    def check(self) -> None:
        """Start another guard if this one was killed."""
        if self.process.poll() is not None and self.asked is None:
            self._start_again()

    def clear(self) -> None:
        """End all processes of the job; `is_done` says when."""
        if self.asked is None:
            self.check()
            self.asked = time.monotonic()
            self._close()

    def is_done(self) -> bool:
        """Whether none is left, or the guard cannot end what is left."""
        if self.asked is None:
            return False
        code = self.process.poll()
        if code == 0:
            return True
        if time.monotonic() - self.asked > GUARD_PATIENCE:
            self.process.kill()
            return True
        if code is not None:  # it was killed
            self._start_again()
            self._close()
        else:  # it may have been stopped
            self.process.send_signal(signal.SIGCONT)
        return False

    def _start(self) -> subprocess.Popen[bytes]:
        text = pkgutil.get_data("hccl_kit.agent", "guard.py")
        assert text is not None
        return subprocess.Popen(
            [PYTHON, "-I", "-S", "-c", text.decode(), self.mark],
            env=self.environ,
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def _start_again(self) -> None:
        self.process = self._start()
        for pid in self.pids:
            self._tell(pid)

    def _tell(self, pid: int) -> None:
        assert self.process.stdin
        with suppress(OSError):  # it was killed; the next one hears of all
            os.write(self.process.stdin.fileno(), b"%d\n" % pid)

    def _close(self) -> None:
        assert self.process.stdin
        with suppress(OSError):
            self.process.stdin.close()


class Attempt:
    """Start `number` of the ranks of `assignment`, with rank 0 at `port`. Raises OSError, before any was started."""

    def __init__(
        self,
        assignment: Assignment,
        number: int,
        port: int,
        selector: selectors.BaseSelector,
        screen: Screen,
        *,
        binding: Binding,
    ) -> None:
        self.assignment = assignment
        self.screen = screen
        self.cards = {rank.rank: rank.card for rank in assignment.ranks}
        self.folder = assignment.logs(number)
        folders = [row.value for row in assignment.defaults if row.in_logs and row.value.endswith("/")]
        for path in ["", *folders]:
            os.makedirs(os.path.join(self.folder, path), 0o700, exist_ok=True)
        self.logs = {rank: Log(self.folder, rank, assignment.limits.log_limit) for rank in self.cards}
        self.prefixed = {rank: self._prefixed(rank) for rank in self.cards} if assignment.limits.prefix else {}
        self.codes: dict[int, int] = {}
        self.progress = evidence.Progress(self.folder, assignment.limits.heartbeat)
        self.ranks = Ranks(selector, self.show)
        self.guard = Guarded(assignment.mark, assignment.environ)
        names = [assignment.threads_name] if assignment.threads_name else []
        facts = [f"{name}={assignment.environ[name]}" for name in names]
        facts += [binding.text] if binding.text else []
        texts, host = assignment.texts, assignment.host
        screen.say(report.started(texts, self.cards, host, port, more=facts, logs=self.folder), OUT)
        for rank in assignment.ranks:
            variables, cores = assignment.variables(rank, number, port), binding.cores.get(rank.card)
            pid = self.ranks.start(rank, assignment.command, variables, cores)
            if pid is not None:
                self.guard.add(pid)

    def show(self, rank: int, data: bytes) -> None:
        """Put what a rank has printed into its log, and onto the screen if it belongs there."""
        self.logs[rank].write(data)
        if self.prefixed:
            self.prefixed[rank].write(data)
        elif rank == 0:
            self.screen.show(rank, data)

    def ended(self) -> list[Exited]:
        """The ranks that have ended since the last call, with a note of each that failed."""
        events = self.ranks.ended()
        for rank, code in events:
            if code == 0:
                with suppress(OSError):  # it counts no steps, or as in `note`
                    os.truncate(os.path.join(self.folder, f"step_{rank}"), 0)
            else:
                self.codes[rank] = code
                self.note(f"exited {rank} {code} {self.cards[rank]} {self.assignment.host}")
        return events

    def close(self) -> Gone:
        """Nothing is left of the ranks; what they have written tells who failed first."""
        self.ranks.close()
        for prefixed in self.prefixed.values():
            prefixed.close()
        for log in self.logs.values():
            log.close()
        step = evidence.furthest(self.folder, self.cards)
        error = evidence.earliest_error(self.folder, self.cards)
        if error is None:
            return Gone(step)
        first = Exited(error.rank, self.codes.get(error.rank, 0))
        return Gone(step, first, max(0.0, time.time() - error.time))

    def failure(self, cause: Exited | Hung, *, is_shown: bool) -> str:
        """What is said of a job that has failed; `is_shown`: the output of the rank ends the screen."""
        rank = report.blamed(cause)
        path = self.logs[rank].path
        is_crash = isinstance(cause, Exited) and cause.code <= 128
        error = evidence.earliest_error(self.folder, [rank]) if is_crash else None
        lines = evidence.last_lines(path)
        text = error.traceback.split("\n") if error else lines
        is_last = is_shown and bool(lines)
        end = report.End(
            path, text, is_traceback=error is not None, is_shown=is_last and lines[-len(text) :] == text[-len(lines) :]
        )
        texts, host, heartbeat = self.assignment.texts, self.assignment.host, self.assignment.limits.heartbeat
        failure = report.failure(texts, cause, self.cards, host, heartbeat=heartbeat, end=end)
        lost = [log for log in self.logs.values() if log.lost]
        if not os.path.isdir(self.folder):
            failure += f"  {phrase(texts, 'agent.no-logs', folder=self.folder)}\n"
        elif lost:
            number, why = sum(log.lost for log in lost), lost[0].why
            failure += f"  {phrase(texts, 'agent.lost-bytes', number=number, folder=self.folder, reason=why)}\n"
        return failure

    def note(self, words: str) -> None:
        """Add a line with the time to the notes of this server, which `hccl-kit diagnose` reads."""
        path = os.path.join(self.folder, f"launcher_{self.assignment.node}")
        with suppress(OSError), open(path, "a", encoding="utf-8") as file:  # the folder was removed, the disk is full
            file.write(f"{time.time():.0f} {words}\n")

    def _prefixed(self, rank: int) -> Prefixed:
        name = report.name(rank).replace("rank ", "")
        return Prefixed(f"[{self.assignment.host}:{name}] ".encode(), partial(self.screen.show, rank))
