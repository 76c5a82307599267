"""Ctrl-C while a program loads its modules: "interrupted" and exit code 130 instead of a traceback.

Programs import this module before slow imports. Once they run, they handle Ctrl-C themselves.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from types import TracebackType

from hccl_kit.base.errors import EXIT_INTERRUPTED


def _end(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """The interpreter's hook for an unhandled exception."""
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    with suppress(OSError):
        print("interrupted", file=sys.stderr, flush=True)  # noqa: T201  # the last output of a program
    os._exit(EXIT_INTERRUPTED)


sys.excepthook = _end
