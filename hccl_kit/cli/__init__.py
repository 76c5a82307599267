"""The command-line programs: parse the arguments, call the package, print."""

from __future__ import annotations

import gc
import io
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from hccl_kit.base import ctrl_c  # noqa: F401  # first: Ctrl-C while the rest loads
from hccl_kit.base.colors import with_labels
from hccl_kit.base.current_folder import NOTE, leave_out
from hccl_kit.base.errors import EXIT_CANNOT_RUN, EXIT_INTERRUPTED, EXIT_PIPE, INTERRUPTED, KitError
from hccl_kit.base.terminal import clean, settle, shown, wants_color
from hccl_kit.base.translation import translated
from hccl_kit.base.wording import system_reason

if TYPE_CHECKING:
    from hccl_kit.base.arguments import Parser

YOUNG_OBJECTS = 300_000
"""New objects before the collector looks for cycles, instead of 700. The table of 65,536 devices, the largest job of
HCCL, has 240,000 and no cycles; looking for them would take a third of the time."""


def program(make_parser: Callable[[], Parser], run: Callable[..., int]) -> Callable[..., int]:
    """The function `main` of a verb: it calls `run` with the options by name, and returns the exit code."""

    def main(argv: Sequence[str] | None = None) -> int:
        return exit_code_of(lambda: run(**vars(make_parser().parse(argv))))

    return main


def exit_code_of(body: Callable[[], int]) -> int:
    """Run the body of a program and flush its output; returns the exit code, after printing an error to stderr.

    Exit codes: that of a KitError; 2 for a full disk or a closed standard output; 130 for Ctrl-C; 141 if the reader of
    the output (head, less) has ended.
    """
    threshold = gc.get_threshold()
    gc.set_threshold(YOUNG_OBJECTS)
    try:
        if sys.stdout is None:
            raise KitError("cli.cli.standard-output-closed", "standard output is closed")
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")  # so that a terminal without UTF-8 prints any text
        if "PATH" in leave_out(os.environ):
            complain(NOTE)
        code = body()
        sys.stdout.flush()
    except KitError as error:
        return _stopped(error.exit_code, error.render())
    except KeyboardInterrupt:
        return _stopped(EXIT_INTERRUPTED, INTERRUPTED)
    except BrokenPipeError:
        return _stopped(EXIT_PIPE)
    except OSError as error:
        place = f"{error.filename or 'standard output'}: " if error.strerror else ""
        return _stopped(
            EXIT_CANNOT_RUN,
            KitError("cli.cli.reason", "{place}{reason}", place=place, reason=system_reason(error)).render(),
        )
    finally:
        gc.set_threshold(*threshold)
    return code


def complain(text: str) -> None:
    """Print to stderr, in the language of the user; nothing if it is closed, since `print` would write to stdout."""
    if sys.stderr is not None:
        text = clean(translated(text))
        print(with_labels(text) if wants_color(sys.stderr) else text, file=sys.stderr)


def say(*lines: str) -> None:
    """Print to standard output, in the language of the user."""
    print(shown("\n".join(map(translated, lines))))


def _stopped(code: int, why: str | None = None) -> int:
    """Print the reason, and discard output that cannot be written."""
    if why is not None:
        with suppress(OSError):
            complain(why)
    settle()
    return code
