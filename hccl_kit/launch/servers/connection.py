"""The agent of one server: the process that reaches it, what it is told, and what it reports.

What comes is not trusted: it is bounded, and parsed to its type.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO, Generic, TypeVar

from hccl_kit.agent.lines import SILENCE, Lines
from hccl_kit.base.message import Message
from hccl_kit.base.process_end import exit_code, killed_by
from hccl_kit.remote.asking import error_line

PIECE = 1 << 16
CONNECTING = 60.0
"""Seconds until an agent that was reached must be ready: ssh, the start of Python, and a login that prints."""
MAX_NOISE = 1 << 20
"""Bytes that a login may print before the agent does."""
MAX_STDERR = 4096
"""Bytes of standard error that are kept: its end."""
Report = TypeVar("Report")


class Connection(Generic[Report]):
    """`words` is the command that reaches the server and runs the agent there, which is sent `payload`.

    `report_of` reads a line of the agent, and raises ValueError for any other. `reports` are those that were not taken
    yet. `lost`: why there will be no more, "" while there may be. `tell_news` is called when either has changed.
    """

    tell_news: Callable[[], object]

    def __init__(
        self,
        words: Sequence[str],
        payload: bytes,
        selector: selectors.BaseSelector,
        report_of: Callable[[bytes], Report],
    ) -> None:
        self.selector = selector
        self.report_of = report_of
        self.lines = Lines()
        self.reports: list[Report] = []
        self.lost = ""
        self.is_ready = False
        self.noise = 0
        self.errors = b""
        self.to_send = memoryview(payload)
        self.since = self.heard = time.monotonic()
        self.process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        stdin, stdout, stderr = self.process.stdin, self.process.stdout, self.process.stderr
        assert stdin and stdout and stderr
        self.stdin, self.stdout, self.stderr = stdin.fileno(), stdout.fileno(), stderr.fileno()
        for pipe, event, ready in (
            (self.stdin, selectors.EVENT_WRITE, self._write),
            (self.stdout, selectors.EVENT_READ, self._read),
            (self.stderr, selectors.EVENT_READ, self._read_errors),
        ):
            os.set_blocking(pipe, False)
            selector.register(pipe, event, ready)

    def send(self, data: bytes) -> None:
        """Send lines, behind what waits."""
        if self.lost:
            return
        if not self.to_send:
            self.selector.register(self.stdin, selectors.EVENT_WRITE, self._write)
        self.to_send = memoryview(bytes(self.to_send) + data)

    def take(self) -> list[Report]:
        """The reports since the last call."""
        taken, self.reports = self.reports, []
        return taken

    def check(self) -> None:
        """Lose a server that gives no sign of life."""
        now = time.monotonic()
        if not self.lost and now - self.heard > SILENCE and (self.is_ready or now - self.since > CONNECTING):
            silent = f"{now - self.heard:.0f}"
            self._lose(Message("launch.no-sign-of-life", "no sign of life in {seconds} s", seconds=silent))

    def hang_up(self) -> None:
        """Close its standard input: the agent ends its ranks, and itself."""
        self._close(self.process.stdin)

    def close(self) -> None:
        """End the process; the agent ends its ranks if there are any."""
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            self._close(stream)
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(1)
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def _close(self, stream: IO[bytes] | None) -> None:
        if stream and not stream.closed:
            if stream.fileno() in self.selector.get_map():
                self.selector.unregister(stream.fileno())
            stream.close()

    def _write(self) -> None:
        try:
            self.to_send = self.to_send[os.write(self.stdin, self.to_send[:PIECE]) :]
        except BlockingIOError:
            return
        except OSError:
            self.to_send = memoryview(b"")  # the end of standard output says why
        if not self.to_send:
            self.selector.unregister(self.stdin)

    def _read(self) -> None:
        data = os.read(self.stdout, PIECE)
        if not data:
            self.selector.unregister(self.stdout)
            self._lose(self._why())
            return
        self.heard = time.monotonic()
        try:
            for text in self.lines.cut(data):
                self._take(text)
        except ValueError as error:
            self._lose(Message("launch.sent", "it sent {what}", what=error))

    def _take(self, text: bytes) -> None:
        if self.lost:
            return
        try:
            report = self.report_of(text)
        except ValueError:
            self.noise += len(text)
            if self.is_ready or self.noise > MAX_NOISE:
                raise
            return
        self.is_ready = True
        self.reports.append(report)
        self.tell_news()

    def _read_errors(self) -> None:
        data = os.read(self.stderr, PIECE)
        if not data:
            self.selector.unregister(self.stderr)
        elif not self.is_ready:  # later ones are of ssh only
            self.heard = time.monotonic()
        self.errors = (self.errors + data)[-MAX_STDERR:]

    def _lose(self, why: str) -> None:
        self.lost = self.lost or why
        self.tell_news()

    def _why(self) -> str:
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(1)
        with suppress(BlockingIOError):
            self.errors = (self.errors + os.read(self.stderr, MAX_STDERR))[-MAX_STDERR:]
        if line := error_line(self.errors.decode("utf-8", "replace")):
            return line
        code = self.process.returncode
        if code is None:
            return Message("launch.no-end", "it does not end")
        return killed_by(-code) if code < 0 else exit_code(code)
