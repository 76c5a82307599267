"""SIGINT and SIGTERM end a program with a message and an exit code, as soon as no file is being written.

SIGUSR2 asks a training to save a checkpoint after its step and to end then, as a scheduler does before a time limit.

MindSpore installs its own handler when it compiles, which ends the process by SIGTERM, and an exception inside its
compiler leaves a dump and a folder `rank_0`. So all threads block both signals, and one thread waits for them.
MindSpore releases the GIL while it computes (measured: within 0.5 s, also while it compiles).
"""

from __future__ import annotations

import os
import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

from hccl_kit.base.errors import EXIT_INTERRUPTED, EXIT_TERMINATED
from hccl_kit.base.progress import line_break

PATIENCE = 20.0
"""Seconds to wait for a file that is being written; a second signal does not wait."""
_ENDINGS = {signal.SIGINT: ("interrupted", EXIT_INTERRUPTED), signal.SIGTERM: ("terminated", EXIT_TERMINATED)}
_WRITING = threading.RLock()
_SCRATCH: set[str] = set()
_SAVE = threading.Event()


class SavedError(Exception):
    """A training has saved a checkpoint and ends, because it was asked to by SIGUSR2."""


class TerminatedError(BaseException):
    """SIGTERM. Not an Exception: nothing handles it as an error of its own."""


def save_on_usr2() -> None:
    """From now on, SIGUSR2 does not end this process: `save_is_wanted` reports it."""
    signal.signal(signal.SIGUSR2, lambda *_: _SAVE.set())


def save_is_wanted() -> bool:
    """Whether SIGUSR2 has come since `save_on_usr2`."""
    return _SAVE.is_set()


@contextmanager
def complete() -> Iterator[None]:
    """Run the block to its end before a signal ends the program."""
    with _WRITING:
        yield


@contextmanager
def scratch() -> Iterator[Path]:
    """A temporary folder, removed after the block or when a signal ends the program."""
    with TemporaryDirectory() as folder:
        _SCRATCH.add(folder)
        try:
            yield Path(folder)
        finally:
            _SCRATCH.discard(folder)


@contextmanager
def raising_termination() -> Iterator[None]:
    """In the block, SIGTERM raises TerminatedError, unless somebody else handles or ignores it.

    For programs that do not load MindSpore, which installs a handler of its own.
    """
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return

    def end(_number: int, _frame: object) -> NoReturn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second one would end the removal of files
        raise TerminatedError

    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def listen(next_step: str = "", *, speaks: bool = True) -> None:
    """Let SIGINT and SIGTERM end this process. Call it before any thread is started.

    `next_step` is added to the message; without `speaks` there is no message. A signal that is ignored, as in a
    background job of a shell, stays ignored.
    """
    signals = {number for number in _ENDINGS if signal.getsignal(number) is not signal.SIG_IGN}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    threading.Thread(target=_wait, args=(signals, next_step if speaks else None), daemon=True).start()


def _wait(signals: set[signal.Signals], next_step: str | None) -> None:
    if not signals:
        return
    what, code = _ENDINGS[signal.Signals(signal.sigwait(signals))]
    threading.Thread(target=_end, args=(what, code, next_step), daemon=True).start()
    signal.sigwait(signals)
    os._exit(code)


def _end(what: str, code: int, next_step: str | None) -> None:
    _WRITING.acquire(timeout=PATIENCE)
    for folder in tuple(_SCRATCH):
        shutil.rmtree(folder, ignore_errors=True)
    if next_step is not None:
        with suppress(OSError):
            os.write(2, f"{line_break()}{'; '.join(filter(None, [what, next_step]))}\n".encode())
    os._exit(code)
