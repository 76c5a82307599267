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
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

from hccl_kit.base.atomic_file import write_atomically
from hccl_kit.base.errors import KitError
from hccl_kit.base.terminal import printable
from hccl_kit.runtime.flight_recorder import DONE, recorder
from hccl_kit.runtime.termination import before_termination
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
