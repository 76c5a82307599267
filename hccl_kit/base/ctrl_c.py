"""Ctrl-C while a program loads its modules: "interrupted" and exit code 130 instead of a traceback.

Programs import this module before slow imports. Once they run, they handle Ctrl-C themselves. Where Python ignores
exceptions, as in callbacks of the import system, the hook of this module still ends the program.
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


_before = sys.unraisablehook


def _end_ignored(ignored: sys.UnraisableHookArgs) -> None:
    """The interpreter's hook for an exception that it ignores."""
    if isinstance(ignored.exc_value, KeyboardInterrupt):
        _end(ignored.exc_type, ignored.exc_value, ignored.exc_traceback)
    _before(ignored)


sys.excepthook = _end
sys.unraisablehook = _end_ignored
