"""Process 1 of a container: the kernel gives it all orphans, and no signal that it has no handler for."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

PASSED_ON = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)


def run_under_init(program: Callable[[], int]) -> int:
    """Run a program, in a child if this is process 1; returns its exit code (128 + signal)."""
    return program() if os.getpid() != 1 else _supervised(program)


def _supervised(program: Callable[[], int]) -> int:
    signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)  # until there is a child to pass them on to
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
        os._exit(program())
    for number in PASSED_ON:
        signal.signal(number, lambda number, _: os.kill(child, number))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
    while True:
        pid, status = os.wait()
        if pid == child:
            return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
