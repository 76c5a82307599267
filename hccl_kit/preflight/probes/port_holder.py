"""Which process holds a port, as far as this user may read /proc."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import reduce
from pathlib import Path
from typing import NamedTuple

from hccl_kit.base.message import Message
from hccl_kit.base.terminal import printable
from hccl_kit.base.wording import clauses
from hccl_kit.preflight.probes.job_of_process import job_of, read

_LISTENS = "0A"
_ENDED = "0"
"""The inode of a closed connection, which keeps its port for a minute (TIME_WAIT)."""


class Holder(NamedTuple):
    """The holder, such as "python (process 4711, rank 0 of hccl_logs/run, for 3 h)".

    `listens`: it accepts connections, rather than having made one.
    """

    text: str
    listens: bool


def holder(port: int, root: Path = Path("/")) -> Holder | None:
    """The processes that listen on `port`, else those with a connection from it; None if none is visible."""
    proc = root / "proc"
    sockets = [socket for table in ("tcp", "tcp6") for socket in _sockets(proc / "net" / table, port)]
    for listens in (True, False):
        links = {f"socket:[{inode}]" for state, inode in sockets if (state == _LISTENS) is listens and inode != _ENDED}
        holders = (
            [process for process in _processes(proc) if links.intersection(open_files(process) or ())] if links else []
        )
        if holders:
            names = reduce(_with, map(_program, holders[:3]))
            connection = Message("preflight.connection-of", "a connection of {programs}", programs=names)
            return Holder(names if listens else connection, listens)
    is_over = sockets and all(inode == _ENDED for _, inode in sockets)
    closed = Message("preflight.closed-connection", "a connection that was just closed")
    return Holder(closed, listens=False) if is_over else None


def _program(process: Path) -> Message:
    number = Message("preflight.process", "process {pid}", pid=process.name)
    about = clauses(filter(None, [number, job_of(process)]))
    return Message("preflight.program", "{name} ({about})", name=_name(process), about=about)


def _with(left: Message, right: Message) -> Message:
    return Message("preflight.programs", "{left} and {right}", left=left, right=right)


def _sockets(table: Path, port: int) -> Iterator[tuple[str, str]]:
    """State and inode of the sockets with this local port.

    Columns: number, local address:port in hex, remote, state, queues, timers, retransmits, user, timeout, inode.
    """
    try:
        lines = table.read_text(encoding="ascii", errors="replace").splitlines()[1:]
    except OSError:
        return
    for line in lines:
        words = line.split()
        if len(words) > 9 and words[1].endswith(f":{port:04X}"):
            yield words[3], words[9]


def _processes(proc: Path) -> Iterator[Path]:
    for name in os.listdir(proc):  # noqa: PTH208 - Path.iterdir sorts nothing and costs a Path for every file
        if name.isdecimal():
            yield proc / name


def open_files(process: Path) -> Sequence[str] | None:
    """Targets of the open files of a process; None if it belongs to another user or has ended."""
    targets = []
    try:
        files = list((process / "fd").iterdir())
    except OSError:
        return None
    for file in files:
        with suppress(OSError):  # it was closed meanwhile
            targets.append(str(file.readlink()))
    return targets


def _name(process: Path) -> str:
    return printable(read(process / "comm", 64).strip()) or Message("preflight.some-program", "a program")
