"""Ctrl-C while a program still loads its modules: "interrupted" and exit code 130 in place of a traceback.

Programs import this module before what takes time to load; once they run, they handle Ctrl-C themselves.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from types import TracebackType

from hccl_kit.base.errors import EXIT_INTERRUPTED


def _end(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """What the interpreter calls for an exception that nothing handles."""
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    with suppress(OSError):
        print("interrupted", file=sys.stderr, flush=True)  # noqa: T201  # the last word of a program
    os._exit(EXIT_INTERRUPTED)


sys.excepthook = _end
