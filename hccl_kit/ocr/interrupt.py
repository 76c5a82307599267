"""Ctrl-C and SIGTERM end a program at once, with a message and its exit code; a file that is being written is finished.

MindSpore installs a handler of its own when it compiles, which ends the process by SIGTERM, and an exception in the
middle of its compiler leaves a dump and a folder `rank_0`. So all threads block both signals, and one thread waits for
them. MindSpore releases the interpreter while it computes (measured: within 0.5 s, also while it compiles).
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

from hccl_kit.base.errors import EXIT_INTERRUPTED, EXIT_TERMINATED
from hccl_kit.base.progress import line_break

PATIENCE = 20.0
"""Seconds that a file may take to be written to its end; a second signal does not wait."""
_ENDINGS = {signal.SIGINT: ("interrupted", EXIT_INTERRUPTED), signal.SIGTERM: ("terminated", EXIT_TERMINATED)}
_WRITING = threading.RLock()
_SCRATCH: set[str] = set()


@contextmanager
def complete() -> Iterator[None]:
    """The block is run to its end before a signal ends the program."""
    with _WRITING:
        yield


@contextmanager
def scratch() -> Iterator[Path]:
    """A temporary folder that is gone after the block, and where a signal ends the program."""
    with TemporaryDirectory() as folder:
        _SCRATCH.add(folder)
        try:
            yield Path(folder)
        finally:
            _SCRATCH.discard(folder)


def listen(next_step: str = "", *, speaks: bool = True) -> None:
    """From now on SIGINT and SIGTERM end this process. Call it before threads are started that would get the signals.

    `next_step` follows the message; a process that does not speak ends without one. A signal that is ignored, as in a
    background job of a shell, stays ignored.
    """
    heard = {number for number in _ENDINGS if signal.getsignal(number) is not signal.SIG_IGN}
    signal.pthread_sigmask(signal.SIG_BLOCK, heard)
    threading.Thread(target=_wait, args=(heard, next_step if speaks else None), daemon=True).start()


def message(what: str, next_step: str) -> str:
    """What a person is told."""
    return f"{what}; {next_step}" if next_step else what


def _wait(heard: set[signal.Signals], next_step: str | None) -> None:
    if not heard:
        return
    what, code = _ENDINGS[signal.Signals(signal.sigwait(heard))]
    threading.Thread(target=_end, args=(what, code, next_step), daemon=True).start()
    signal.sigwait(heard)
    os._exit(code)


def _end(what: str, code: int, next_step: str | None) -> None:
    _WRITING.acquire(timeout=PATIENCE)
    for folder in tuple(_SCRATCH):
        shutil.rmtree(folder, ignore_errors=True)
    if next_step is not None:
        with suppress(OSError):
            os.write(2, f"{line_break()}{message(what, next_step)}\n".encode())
    os._exit(code)
