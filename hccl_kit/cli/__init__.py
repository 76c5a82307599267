"""The command-line programs: parse arguments, do the input and output, print. Everything they decide is below."""

from __future__ import annotations

import sys
from collections.abc import Callable

from hccl_kit.errors import EXIT_INTERRUPTED, KitError


def run(program: Callable[[], int]) -> int:
    """Run a program's body; a KitError becomes its text on stderr and its exit code, Ctrl-C becomes 130."""
    try:
        return program()
    except KitError as error:
        print(error.render(), file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader (head, less) went away: not a fault of ours, and stdout must not be flushed at exit.
        sys.stderr.close()
        return 0
