"""A child process that leads a session of its own: what it prints, within limits of time and size."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from selectors import EVENT_READ, DefaultSelector
from typing import IO, cast

from hccl_kit.base.interruptible import POLL, is_interrupted

MAX_STDERR = 4096
"""Bytes of standard error that are kept: its end."""
_DYING = 1.0
"""Seconds to wait for a killed program."""


class TooMuchError(Exception):
    """A process prints more than is read."""


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


def output_of(
    process: subprocess.Popen[bytes], deadline: float, most: int, is_stopped: Callable[[], bool] = lambda: False
) -> tuple[str, str]:
    """Standard output until the process ends, and the end of standard error, "" if that is not a pipe of its own.

    Raises TimeoutExpired at `deadline` (monotonic), if `is_stopped`, or after a signal, TooMuchError if the output has
    more than `most` bytes. The pipes are not buffered.
    """
    output, errors = bytearray(), bytearray()
    with DefaultSelector() as selector:
        for stream, kept in ((process.stdout, output), (process.stderr, errors)):
            if stream is not None:
                selector.register(stream, EVENT_READ, kept)
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0 or is_stopped() or is_interrupted():
                raise subprocess.TimeoutExpired(process.args, left)
            for key, _ in selector.select(min(left, POLL)):
                piece = cast("IO[bytes]", key.fileobj).read(1 << 16)
                key.data.extend(piece)
                if not piece:
                    selector.unregister(key.fileobj)
            del errors[:-MAX_STDERR]
            if len(output) > most:
                raise TooMuchError
    wait(process, deadline)
    return output.decode("utf-8", "replace"), errors.decode("utf-8", "replace")
