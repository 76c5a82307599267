"""What the ranks print: into their logs, which have a limit, and onto the screen.

A rank writes into a pipe that the agent always empties, so neither a full disk nor a blocked terminal stops it. A log
that would grow beyond the limit becomes `rank_N.log.1`, in the place of the one before, so a rank has at most two.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from hccl_kit.agent import report

CHUNK = 1 << 16
"""Bytes that are read at once: what a pipe of Linux holds."""
LONGEST_LINE = 1 << 14
"""Bytes of a line that begin with the name of the rank; the rest of a longer one stands on further lines."""


class Log:
    """The log of a rank: what it prints, up to `limit` bytes and as many before (0: no limit).

    `lost` counts the bytes that could not be written, as on a full disk; the file is tried again with each chunk.
    """

    def __init__(self, folder: str, rank: int, limit: int = 0) -> None:
        self.path = os.path.join(folder, f"{report.name(rank).replace(' ', '_')}.log")
        self.limit = limit
        self.size = 0
        self.lost = 0
        self.why = ""
        self.file = _open_new(self.path)

    def write(self, data: bytes) -> None:
        """Add what the rank has printed."""
        if self.limit and self.size and self.size + len(data) > self.limit:
            self._begin_again()
        try:
            while data:
                written = os.write(self.file, data)
                self.size += written
                data = data[written:]
        except OSError as error:
            self.lost += len(data)
            self.why = error.strerror or str(error)

    def close(self) -> None:
        """Close the file."""
        os.close(self.file)

    def _begin_again(self) -> None:
        try:
            os.replace(self.path, self.path + ".1")
            file = _open_new(self.path)
        except OSError:  # the folder was removed, or is full: what is there is cut
            os.ftruncate(self.file, 0)
        else:
            os.close(self.file)
            self.file = file
        self.size = 0


def _open_new(path: str) -> int:
    """The descriptor of a new file, for appending. Raises OSError, also if there is anything under its name."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


class Prefixed:
    """Puts a prefix before every line of a rank; a line is shown when it is complete, or too long."""

    def __init__(self, prefix: bytes, show: Callable[[bytes], object]) -> None:
        self.prefix = prefix
        self.show = show
        self.rest = b""

    def write(self, data: bytes) -> None:
        """Add what the rank has printed."""
        lines = (self.rest + data).split(b"\n")
        self.rest = lines.pop()
        while len(self.rest) > LONGEST_LINE:
            lines.append(self.rest[:LONGEST_LINE])
            self.rest = self.rest[LONGEST_LINE:]
        if lines:
            self.show(b"".join(self.prefix + line + b"\n" for line in lines))

    def close(self) -> None:
        """Show a last line without its end."""
        if self.rest:
            self.write(b"\n")
