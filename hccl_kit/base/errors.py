"""Errors that end a command with a message for the user.

Exit codes are the same for every program of this project:

====  =====================================================================
0     success, or no findings
1     findings in the input, or training that had started failed
2     could not run: wrong usage, a missing file or tool, a refused write
130   interrupted by SIGINT; 143: by SIGTERM
141   the reader of the output closed the pipe
====  =====================================================================
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hccl_kit.base.message import Message
from hccl_kit.base.terminal import marked, printable, text_width
from hccl_kit.base.translation import translated

EXIT_OK = 0
EXIT_FINDINGS = 1
EXIT_CANNOT_RUN = 2
EXIT_INTERRUPTED = 130
EXIT_PIPE = 141
EXIT_TERMINATED = 143
INTERRUPTED = Message("cli.interrupted", "interrupted")


class KitError(Exception):
    """An error that the user can act on; programs print it without a traceback.

        KitError("table.not-json", "{path} is not JSON", fix="hccl-check {path}", path=path)

    `message` holds the value found, its place and the accepted values; `hint` is the next step. They are Messages of
    the templates, by the ids ID and ID.fix, with the same values. A Message that exists already is given alone, and one
    for the next step as `hint`.
    """

    exit_code = EXIT_CANNOT_RUN

    def __init__(
        self,
        id_or_message: str,
        template: str | None = None,
        /,
        *,
        fix: str | None = None,
        hint: str | None = None,
        **values: object,
    ) -> None:
        message = id_or_message if template is None else Message(id_or_message, template, **values)
        super().__init__(message)
        self.message = message
        self.hint = hint if fix is None else Message(f"{id_or_message}.fix", fix, **values)

    def render(self) -> str:
        """The text for the terminal, without control characters: `error: ...` and, with a hint, `  fix: ...`.

        It is in the language of the user.
        """
        text = translated(Message("base.error", "error: {message}", message=self.message))
        if self.hint:
            label = "  " + translated(Message("base.fix", "fix: "))
            text += f"\n{label}" + translated(self.hint).replace("\n", "\n" + " " * text_width(label))
        return "\n".join(map(printable, text.split("\n")))


class ParseError(KitError):
    """A text that does not match its grammar; `column` counts characters from 0, a caret is drawn under it."""

    def __init__(
        self,
        id_or_message: str,
        template: str | None = None,
        /,
        *,
        source: str,
        column: int,
        width: int = 1,
        fix: str | None = None,
        hint: str | None = None,
        **values: object,
    ) -> None:
        super().__init__(id_or_message, template, fix=fix, hint=hint, **values)
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
    """Give errors of this block exit code 1, since the work has started: 2 is for work that could not start."""
    try:
        yield
    except BrokenPipeError:  # has a code of its own
        raise
    except OSError as error:
        stopped = KitError("base.stopped", "cannot read or write: {reason}", reason=error)
        stopped.exit_code = EXIT_FINDINGS
        raise stopped from error
    except KitError as error:
        if error.exit_code == EXIT_CANNOT_RUN:
            error.exit_code = EXIT_FINDINGS
        raise
