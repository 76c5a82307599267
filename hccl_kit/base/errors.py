"""What stops a command, said for a person.

Exit codes are the same for every program of this project:

====  =====================================================================
0     done, or nothing wrong
1     the input was read and is wrong (findings), or training had begun and failed
2     could not run: bad usage, a missing file or tool, a refused write
130   interrupted by SIGINT; 143: by SIGTERM
141   whoever read the output went away
====  =====================================================================
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hccl_kit.base.terminal import marked, printable

EXIT_OK = 0
EXIT_FINDINGS = 1
EXIT_CANNOT_RUN = 2
EXIT_INTERRUPTED = 130
EXIT_PIPE = 141
EXIT_TERMINATED = 143


class KitError(Exception):
    """A fault that a person can act on; the command line prints it without a traceback.

    `message` holds the value found, its place and what is accepted; `hint` the next step.
    """

    exit_code = EXIT_CANNOT_RUN

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def render(self) -> str:
        """The text for the screen: `error: ...` and, where there is one, `  fix: ...`; it moves no cursor."""
        lines = [f"error: {self.message}"]
        if self.hint:
            lines += [f"  fix: {line}" if n == 0 else f"       {line}" for n, line in enumerate(self.hint.split("\n"))]
        return "\n".join(printable(line) for line in "\n".join(lines).split("\n"))


class ParseError(KitError):
    """A text that does not follow its grammar; `column` counts characters from 0 and a caret is drawn under it."""

    def __init__(self, message: str, *, source: str, column: int, width: int = 1, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.source = source
        self.column = column
        self.width = width

    def render(self) -> str:
        """The error, the source and a caret under the part that is wrong."""
        first, *rest = super().render().split("\n")
        source, caret = marked(self.source, self.column, self.width)
        return "\n".join([first, f"    {source}", f"    {caret}", *rest])


@contextmanager
def under_way() -> Iterator[None]:
    """What stops this block stops work that has begun, so its exit code is 1: 2 is for what never started."""
    try:
        yield
    except BrokenPipeError:  # has a code of its own
        raise
    except OSError as error:
        stopped = KitError(f"cannot read or write: {error}")
        stopped.exit_code = EXIT_FINDINGS
        raise stopped from error
    except KitError as error:
        if error.exit_code == EXIT_CANNOT_RUN:
            error.exit_code = EXIT_FINDINGS
        raise
