"""The guard as the agent sees it: started again if it was killed, and asked to end the job."""

from __future__ import annotations

import contextlib
import os
import pkgutil
import signal
import subprocess
import sys
import time

PYTHON = sys.executable or os.path.realpath("/proc/self/exe")
"""This Python; without PATH, as in some logins, it does not know itself."""
PATIENCE = 8.0
"""Seconds that the guard may take at the end: longer only if it hangs in a driver itself."""


class Guarded:
    """A guard for the processes that have `mark` in their environment."""

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
        if time.monotonic() - self.asked > PATIENCE:
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
        with contextlib.suppress(OSError):  # it was killed; the next one hears of all
            os.write(self.process.stdin.fileno(), b"%d\n" % pid)

    def _close(self) -> None:
        assert self.process.stdin
        with contextlib.suppress(OSError):
            self.process.stdin.close()
