"""What ranks write into the log folder: their steps, the error file of `hccl_kit.runtime.failure`, and their logs."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterable
from typing import NamedTuple

MAX_FILE = 1 << 20
MAX_TEXT = 16384
"""Characters of a traceback, or bytes of the end of a log, that are shown."""
LINES = 20
_STEP = re.compile(rb"(0|[1-9][0-9]{0,17})\n?")


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


def step_of(folder: str, rank: int) -> int | None:
    """The last step that a rank has counted; None if it counts none."""
    beat = _beat(folder, rank)
    return beat[1] if beat else None


def furthest(folder: str, ranks: Iterable[int]) -> int | None:
    """The highest step of the ranks; None if none counts."""
    steps = [step for step in (step_of(folder, rank) for rank in ranks) if step is not None]
    return max(steps) if steps else None


class Progress:
    """Notices that a rank takes no step for `limit` seconds, by a clock that only moves forward.

    A rank beats with each change of its file. A rank without a file, such as one that still compiles, is not judged.
    """

    def __init__(self, folder: str, limit: float) -> None:
        self.folder = folder
        self.limit = limit
        self.beats: dict[int, tuple[tuple[int, int], float]] = {}
        self.looked: float | None = None
        self.blind_at: float | None = None

    def still(self, ranks: Iterable[int], now: float) -> tuple[tuple[int, ...], int] | None:
        """The ranks at the lowest step and that step, if one of `ranks` has stopped; otherwise None."""
        slept = self.looked is not None and now - self.looked > self.limit / 2
        self.looked = now
        stopped = False
        steps: dict[int, int] = {}
        for rank in ranks:
            beat = _beat(self.folder, rank)
            if beat is None:
                continue
            steps[rank] = beat[1]
            before, since = self.beats.get(rank, (None, now))
            # While this process was stopped, the ranks may have waited for it.
            if before != beat or slept:
                self.beats[rank] = (beat, now)
            elif now - since > self.limit:
                stopped = True
        if not stopped:
            return None
        lowest = min(steps.values())
        return tuple(rank for rank in sorted(steps) if steps[rank] == lowest), lowest

    def is_blind(self, now: float) -> bool:
        """Whether no rank has counted a step within the limit; said once, by the call that notices it."""
        if self.blind_at is None:
            self.blind_at = now + self.limit
        if self.beats or now < self.blind_at:
            return False
        self.blind_at = float("inf")
        return True


def _beat(folder: str, rank: int) -> tuple[int, int] | None:
    """When the file of a rank was written, in nanoseconds, and its step."""
    try:
        about, data = read_plain(os.path.join(folder, f"step_{rank}"), 21)
    except OSError:
        return None
    match = _STEP.fullmatch(data.partition(b"\n")[0])
    return (about.st_mtime_ns, int(match[1])) if match else None
