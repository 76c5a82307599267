"""The command-line programs: parse arguments, do the input and output, print. Everything they decide is below."""

from __future__ import annotations

import gc
import io
import os
import sys
from collections.abc import Callable
from contextlib import suppress

from hccl_kit.base import ctrl_c  # noqa: F401  # first: Ctrl-C while the rest loads
from hccl_kit.base.colors import with_labels
from hccl_kit.base.errors import EXIT_CANNOT_RUN, EXIT_INTERRUPTED, EXIT_PIPE, KitError
from hccl_kit.base.terminal import wants_color


def run(program: Callable[[], int]) -> int:
    """Run a program's body, its output to the last byte; what stops it becomes a text on stderr and an exit code.

    A KitError has both; a full disk or a closed standard output is 2, Ctrl-C 130, a reader (head, less) that went
    away 141.
    """
    gc.disable()  # tables are bounded and hold no cycles; looking for some takes a third of the time of a large one
    try:
        if sys.stdout is None:
            raise KitError("standard output is closed")
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")  # a terminal that is not UTF-8 shows any text too
        code = program()
        sys.stdout.flush()
    except KitError as error:
        return _stopped(error.exit_code, error.render())
    except KeyboardInterrupt:
        return _stopped(EXIT_INTERRUPTED, "interrupted")
    except BrokenPipeError:
        return _stopped(EXIT_PIPE)
    except OSError as error:
        stuck = KitError(f"{error.filename or 'standard output'}: {error.strerror}")
        return _stopped(EXIT_CANNOT_RUN, stuck.render())
    finally:
        gc.enable()  # for those who call a program from Python
    return code


def complain(text: str) -> None:
    """Print to stderr; where it is closed, `print` would take stdout."""
    if sys.stderr is not None:
        print(with_labels(text) if wants_color(sys.stderr) else text, file=sys.stderr)


def _stopped(code: int, why: str | None = None) -> int:
    """Say why, and let what no stream takes go nowhere: the interpreter would stumble over it at its end."""
    if why is not None:
        with suppress(OSError):
            complain(why)
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return code
