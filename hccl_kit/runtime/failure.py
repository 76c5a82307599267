"""Why a rank ended: one JSON file per failed rank in the run's log folder, and the stacks of a rank that hangs.

    from hccl_kit import recorded, watch_stacks

    watch_stacks()              # early: SIGUSR1 prints where every thread is
    with recorded():
        main()                  # any program, of MindSpore or torch

Only our own scripts name the folder (HCCL_KIT_LOG_DIR); elsewhere both do nothing. `error_<rank>.json` holds

    {"version": 1, "rank": 3, "host": "n1", "device": 7, "pid": 4711, "exception": "ValueError", "message": "...",
     "traceback": "...", "time": 1767225600.25}

with null for a device that is not known, and `time` in seconds since 1970. `traceback` is what a program prints as it
ends: for a KitError its text, which says what to do instead of where it was raised. Nothing in these texts moves a
cursor. The launcher shows the earliest file.
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
from contextlib import contextmanager, suppress
from pathlib import Path

from hccl_kit.base.atomic_file import write_atomically
from hccl_kit.base.errors import KitError
from hccl_kit.base.terminal import printable
from hccl_kit.runtime.worker_env import LOG_DIR, WorkerEnv, integer

VERSION = 1
MAX_MESSAGE = 4_000
MAX_TRACEBACK = 32_000
"""Characters that are kept; of what is longer, both ends."""


@contextmanager
def recorded() -> Iterator[None]:
    """Record the exception that leaves the block, and let it go on. Ctrl-C and sys.exit() are not failures."""
    try:
        yield
    except Exception as error:
        record(error)
        raise


def record(error: BaseException, *, env: WorkerEnv | None = None, environ: Mapping[str, str] = os.environ) -> None:
    """Write `error_<rank>.json`; `env` says who we are where no script of ours has said so. Never raises."""
    when = time.time()
    with suppress(Exception):
        folder = environ.get(LOG_DIR)
        rank = _number(environ, "rank") if env is None else env.rank
        if not folder or rank is None:
            return
        row = {
            "version": VERSION,
            "rank": rank,
            "host": socket.gethostname(),
            "device": _number(environ, "device") if env is None else env.device,
            "pid": os.getpid(),
            "exception": type(error).__name__,
            "message": shortened(_text_of(lambda: str(error)), MAX_MESSAGE),
            "traceback": shortened(_text_of(lambda: _traceback(error)), MAX_TRACEBACK),
            "time": when,
        }
        write_atomically(Path(folder) / f"error_{rank}.json", json.dumps(row, indent=1) + "\n")


def watch_stacks(environ: Mapping[str, str] = os.environ) -> None:
    """From now on SIGUSR1 prints the Python stacks of all threads to stderr, also while one hangs in native code.

    Nothing where no script of ours asked for it: then SIGUSR1 stays the program's own.
    """
    if environ.get(LOG_DIR):
        with suppress(Exception):  # such as: stderr is no file
            faulthandler.register(signal.SIGUSR1, all_threads=True)


def shortened(text: str, limit: int) -> str:
    """At most `limit` characters of `text` and a line that says how many are missing between its two ends."""
    if len(text) <= limit:
        return text
    head = limit // 2
    tail = limit - head
    return f"{text[:head]}\n... {len(text) - limit} characters are left out ...\n{text[-tail:]}"


def _text_of(make: Callable[[], str]) -> str:
    """What `make` returns, without anything that moves the cursor; an exception may be unable to describe itself."""
    try:
        text = make()
    except Exception as fault:
        text = f"(cannot be shown: {type(fault).__name__})"
    return "\n".join(map(printable, text.split("\n")))


def _traceback(error: BaseException) -> str:
    return error.render() if isinstance(error, KitError) else "".join(traceback.format_exception(error))


def _number(environ: Mapping[str, str], field: str) -> int | None:
    try:
        return integer(environ, field)
    except KitError:
        return None
