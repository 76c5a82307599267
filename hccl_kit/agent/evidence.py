"""What a failed rank has left behind: the error file that `hccl_kit.runtime.failure` writes, and the end of its log."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable
from typing import NamedTuple

MAX_FILE = 1 << 20
MAX_TEXT = 16384
"""Characters of a traceback, or bytes of the end of a log, that are shown."""
LINES = 20


class ErrorFile(NamedTuple):
    """The rank that wrote its error first, when by the clock of this host, and the traceback, without control
    characters.
    """

    rank: int
    time: float
    traceback: str


def earliest_error(folder: str, ranks: Iterable[int]) -> ErrorFile | None:
    """The earliest of the error files; None if no error file can be read."""
    errors = []
    for rank in ranks:
        try:
            error = json.loads(read_plain(os.path.join(folder, f"error_{rank}.json"), MAX_FILE)[1])
            errors.append((float(error["time"]), rank, str(error["traceback"])))
        except (ArithmeticError, LookupError, OSError, RecursionError, TypeError, ValueError):
            continue
    if not errors:
        return None
    when, rank, text = min(errors)
    text = text.rstrip()
    return ErrorFile(rank, when, printable(text if len(text) <= MAX_TEXT else "[...] " + text[-MAX_TEXT:]))


def last_lines(path: str) -> list[str]:
    """The last lines of a log, without control characters; "[...] " begins one that is cut."""
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - MAX_TEXT))
            data = file.read(MAX_TEXT)
    except OSError:
        return []
    lines = data.decode("utf-8", "replace").rstrip("\n").split("\n")
    if size > len(data):
        lines[0] = "[...] " + lines[0]
    return [printable(line) for line in lines[-LINES:]] if data else []


def printable(text: str) -> str:
    """The text with escapes in the place of control characters, but for tabs and line breaks."""
    return "".join(c if c.isprintable() or c in "\t\n" else ascii(c)[1:-1] for c in text)


def read_plain(path: str, most: int) -> tuple[os.stat_result, bytes]:
    """The state of a plain file and its first bytes, at most `most`. Raises OSError, also for any other file."""
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        about = os.fstat(file)
        if not stat.S_ISREG(about.st_mode):
            raise OSError(f"not a plain file: {path}")
        return about, os.read(file, most)
    finally:
        os.close(file)
