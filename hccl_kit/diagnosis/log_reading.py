"""A log that a user names, or pipes in: read as a stream in bounded memory, and explained by its most telling line."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable, Iterator
from io import BufferedReader, FileIO
from pathlib import Path

from hccl_kit.base.bounded_file import NOT_REGULAR, open_regular
from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.translation import translated
from hccl_kit.diagnosis.known_lines import MAX_LINE, Explanation, explain_lines
from hccl_kit.diagnosis.logs.sources import cannot_read, why

MAX_BYTES = 64 << 20
"""Bytes of a log that are read; `hccl-kit diagnose` reads larger ones."""
MAX_LINES = 1 << 20
"""Lines of a log that are read."""
_PIECE = 1 << 16
_MAX_SUSPECTS = 3
_MAX_SHOWN = 200
_SUSPECT = re.compile(
    r"(?i)\b(?:error|exception|failed|failure|fatal|fault|killed|aborted|abort|cannot|could not|undefined|timed out"
    r"|segmentation|core dumped|not found|no such|traceback|failing at address)\b"
    r"|[a-z](?:Error|Exception)\b|\bSIG(?:BUS|SEGV|KILL|ABRT)\b"
)
"""What most programs write about an error."""
_TRACEBACK = re.compile(r'Traceback \(most recent call last\)|\bFile "')
"""Lines that say where an error is, but not which."""


def explain_log(stream: BufferedReader, name: str) -> Explanation:
    """What the most telling line of a log says.

    Raises KitError if no line is known, or if it is not text; OSError if it cannot be read.
    """
    start = stream.peek(_PIECE)[:_PIECE]
    if b"\0" in start:
        raise KitError(
            "diagnosis.not-log",
            "{name} is not a log: it has NUL bytes",
            fix="pass a text file; unpack archives first",
            name=name,
        )
    suspects, traces = list[Message](), list[Message]()
    explanation = explain_lines(_watched(lines_of(stream), suspects, traces))
    if explanation and stream.peek(1):
        note = Message(
            "diagnosis.cut", "{name} is long: only its start was read (`hccl-kit diagnose` reads all)", name=name
        )
        explanation = explanation._replace(notes=(*explanation.notes, note))
    if explanation is None:
        message = Message("diagnosis.no-line", "no line of {name} is recognised", name=name)
        raise KitError(message, hint=_hint(suspects or traces[:1]))
    return explanation


def _watched(lines: Iterable[str], suspects: list[Message], traces: list[Message]) -> Iterator[str]:
    """The lines; the first ones that look like errors are added to `suspects`, those of tracebacks to `traces`."""
    for number, line in enumerate(lines, 1):
        place = traces if _TRACEBACK.search(line) else suspects
        if len(place) < _MAX_SUSPECTS and _SUSPECT.search(line):
            place.append(
                Message("diagnosis.suspect", "line {number}: {text}", number=number, text=line.strip()[:_MAX_SHOWN])
            )
        yield line


def _hint(suspects: list[Message]) -> Message:
    """The next step for a log without a known line; unknown does not mean that it has no error."""
    if not suspects:
        return Message(
            "diagnosis.no-error",
            "no line looks like an error either: collect ~/ascend/log (debug and run) of all hosts, and the output of"
            " all ranks",
        )
    return Message(
        "diagnosis.suspects",
        "these lines look like errors, which this version does not know:\n{lines}\nelse collect ~/ascend/log (debug and"
        " run) of all hosts, and the output of all ranks",
        lines="\n".join(map(translated, suspects)),
    )


def open_log(path: Path) -> BufferedReader:
    """A regular file, open for reading. Raises KitError if it cannot be opened, or is anything else."""
    try:
        return opened(open_regular(path))
    except (OSError, ValueError) as error:
        is_other = isinstance(error, OSError) and error.strerror == NOT_REGULAR
        pipe = Message("diagnosis.not-regular.fix", "pipe it in: hccl-kit explain - < FILE") if is_other else None
        raise KitError(cannot_read(path, why(error)), hint=pipe) from error


def opened(descriptor: int, *, closes: bool = True) -> BufferedReader:
    """A stream of an open file."""
    return BufferedReader(FileIO(descriptor, closefd=closes), _PIECE)


def lines_of(stream: BufferedReader) -> Iterator[str]:
    """The lines, each cut at MAX_LINE bytes: a line may be the whole log."""
    left = MAX_BYTES
    for _ in range(MAX_LINES):
        line = _read(stream, min(MAX_LINE, left))
        if not line:
            return
        left -= len(line)
        rest = line
        while left > 0 and not rest.endswith(b"\n") and (rest := _read(stream, min(_PIECE, left))):
            left -= len(rest)
        yield line.decode("utf-8", "replace").rstrip("\r\n")


def _read(stream: BufferedReader, size: int) -> bytes:
    try:
        return stream.readline(size)
    except OSError as error:
        if error.errno == errno.EISDIR:
            raise KitError(
                "diagnosis.folder", "cannot read a folder as a log", fix="hccl-kit diagnose FOLDER"
            ) from error
        raise
