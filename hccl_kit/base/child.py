"""A child process that leads a session of its own, within a deadline."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from hccl_kit.base.interruptible import POLL, is_interrupted

_DYING = 1.0
"""Seconds to wait for a killed program."""


@contextmanager
def killed_on_error(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """If the block fails, kill the process, which leads its own session, and wait at most one second.

    `with process` would wait without limit: a process that is blocked in the kernel does not react to SIGKILL.
    """
    try:
        yield
    except BaseException:
        if process.returncode is None:
            with suppress(PermissionError):  # a program that became another user, such as sudo, ends by itself
                os.killpg(process.pid, signal.SIGKILL)  # the session, or the child of a wrapper script would live on
            with suppress(subprocess.TimeoutExpired):
                process.wait(_DYING)
        raise
    finally:
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def wait(process: subprocess.Popen[bytes], deadline: float) -> int:
    """The exit code of a process. Raises subprocess.TimeoutExpired at `deadline` (monotonic), or after a signal."""
    while True:
        left = max(0.0, deadline - time.monotonic())
        try:
            return process.wait(min(left, POLL))
        except subprocess.TimeoutExpired:
            if left == 0.0 or is_interrupted():
                raise
