"""Failure reports: one JSON file per failed rank in the run's log folder, and the stacks of a rank that hangs.

    from hccl_kit import recorded, watch_stacks

    watch_stacks()              # early: SIGUSR1 prints the stacks of all threads
    with recorded():
        main()                  # any program, with MindSpore or torch

Only the scripts of this project set the folder (HCCL_KIT_LOG_DIR); without it both do nothing. `error_<rank>.json` is

    {"version": 1, "rank": 3, "host": "n1", "device": 7, "pid": 4711, "exception": "ValueError", "message": "...",
     "traceback": "...", "time": 1767225600.25}

with null for an unknown device, and `time` in seconds since 1970. `traceback` is what the program prints when it ends;
for a KitError that is its message and hint. The texts contain no control characters. The launcher shows the earliest
file.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import socket
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

from hccl_kit.base.atomic_file import write_atomically
from hccl_kit.base.errors import KitError
from hccl_kit.base.terminal import printable
from hccl_kit.runtime.flight_recorder import DONE, recorder
from hccl_kit.runtime.worker_env import LOG_DIR, WorkerEnv, card_or_none, integer_or_none

VERSION = 1
MAX_MESSAGE = 4_000
MAX_TRACEBACK = 32_000
"""Characters that are kept; of a longer text, its start and its end."""


@contextmanager
def recorded() -> Iterator[None]:
    """Record an exception that leaves the block, and raise it again. Ctrl-C and sys.exit() are not failures.

    The flight recorder notes how the block ended, whatever that is. SIGTERM ends the process with exit code 143, after
    the recorder has written the collectives of torch.
    """
    flight = recorder()
    with before_termination(flight.killed) if flight.is_on else nullcontext():
        try:
            yield
        except Exception as error:
            record(error)
            raise
        except BaseException as error:
            is_success = isinstance(error, SystemExit) and error.code in (None, 0)
            flight.ended(DONE if is_success else type(error).__name__, str(error))
            raise
        flight.ended(DONE)


def record(error: BaseException, *, env: WorkerEnv | None = None, environ: Mapping[str, str] = os.environ) -> None:
    """Write `error_<rank>.json`; pass `env` if the environment does not contain the rank. Never raises."""
    when = time.time()
    with suppress(Exception):
        name, message = type(error).__name__, _text_of(lambda: str(error))
        recorder(environ, env=env).ended(name, message)
        folder = environ.get(LOG_DIR)
        rank = integer_or_none(environ, "rank") if env is None else env.rank
        if not folder or rank is None:
            return
        row = {
            "version": VERSION,
            "rank": rank,
            "host": socket.gethostname(),
            "device": card_or_none(environ, env),
            "pid": os.getpid(),
            "exception": name,
            "message": shortened(message, MAX_MESSAGE),
            "traceback": shortened(_text_of(lambda: _traceback(error)), MAX_TRACEBACK),
            "time": when,
        }
        write_atomically(Path(folder) / f"error_{rank}.json", json.dumps(row, indent=1) + "\n")


def watch_stacks() -> None:
    """Make SIGUSR1 print the Python stacks of all threads to stderr, even if one hangs in native code.

    Without HCCL_KIT_LOG_DIR, the handler of SIGUSR1 stays unchanged.
    """
    if os.environ.get(LOG_DIR):
        with suppress(Exception):  # such as: stderr is not a file
            faulthandler.register(signal.SIGUSR1, all_threads=True)


def shortened(text: str, limit: int) -> str:
    """The start and end of `text`, together at most `limit` characters, and a line that counts the rest."""
    if len(text) <= limit:
        return text
    head = limit // 2
    tail = limit - head
    return f"{text[:head]}\n... {len(text) - limit} characters omitted ...\n{text[-tail:]}"


def _text_of(make: Callable[[], str]) -> str:
    """The result of `make` without control characters; the text of an exception may itself raise one."""
    try:
        text = make()
    except Exception as fault:
        text = f"(cannot be printed: {type(fault).__name__})"
    return "\n".join(map(printable, text.split("\n")))


def _traceback(error: BaseException) -> str:
    return error.render() if isinstance(error, KitError) else "".join(traceback.format_exception(error))


EXIT_CODE = 128 + signal.SIGTERM
_watches: list[_Watch] = []


@contextmanager
def before_termination(act: Callable[[], None]) -> Iterator[None]:
    """In the block, SIGTERM calls `act` and then ends the process with exit code 143, as a shell shows the signal.

    Also while native code runs: Python runs the handler of a signal when the main thread is back in Python, which is
    never while it waits in a collective. The wake-up descriptor is written at once, so a thread here reads the signal
    from it. A program that has a handler or a wake-up descriptor of its own keeps it.
    """
    watch = _watch(act)
    try:
        yield
    finally:
        if watch is not None:
            watch.close()


def _watch(act: Callable[[], None]) -> _Watch | None:
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        return None
    before = signal.set_wakeup_fd(-1)
    if before != -1:
        signal.set_wakeup_fd(before)
        return None
    return _Watch(act)


class _Watch:
    def __init__(self, act: Callable[[], None]) -> None:
        self._act = act
        self._is_ending = threading.Lock()
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        signal.signal(signal.SIGTERM, self._handle)
        signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        _watches.append(self)
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            threading.Thread(target=self._wait, name="termination", daemon=True).start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def close(self) -> None:
        """Restore the default handler, and end the thread."""
        self.forget()
        os.close(self._write)

    def forget(self) -> None:
        """Restore the default handler, unless another one was installed meanwhile."""
        with suppress(ValueError):
            _watches.remove(self)
        if signal.getsignal(signal.SIGTERM) == self._handle:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        before = signal.set_wakeup_fd(-1)
        if before not in (-1, self._write):
            signal.set_wakeup_fd(before)

    def _wait(self) -> None:
        while numbers := os.read(self._read, 64):
            if signal.SIGTERM in numbers and signal.getsignal(signal.SIGTERM) == self._handle:
                self._end()
        os.close(self._read)

    def _handle(self, _number: int, _frame: object) -> None:
        self._end()

    def _end(self) -> None:
        if self._is_ending.acquire(blocking=False):
            try:
                self._act()
            finally:
                os._exit(EXIT_CODE)


def _in_child() -> None:
    """Restore the default handler in a forked process: the parent would read a signal to its child from their pipe."""
    for watch in tuple(_watches):
        watch.forget()


os.register_at_fork(after_in_child=_in_child)
