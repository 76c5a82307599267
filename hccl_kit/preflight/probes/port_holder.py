"""What holds a port, as far as /proc tells this user."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from hccl_kit.base.terminal import printable

_LISTENS = "0A"
_ENDED = "0"
"""The inode of a connection that no process has any more, and that keeps its port for a minute."""


class Holder(NamedTuple):
    """Who, such as "python (process 4711)"; `listens`: it waits for others there, and has not just called somebody."""

    text: str
    listens: bool


def holder(port: int, root: Path = Path("/")) -> Holder | None:
    """The processes that listen on `port`, else those with a connection from it; None where nothing can be seen."""
    proc = root / "proc"
    sockets = [one for table in ("tcp", "tcp6") for one in _sockets(proc / "net" / table, port)]
    for listens in (True, False):
        links = {f"socket:[{inode}]" for state, inode in sockets if (state == _LISTENS) is listens and inode != _ENDED}
        found = [process for process in _processes(proc) if links & set(_open_files(process))] if links else []
        if found:
            names = " and ".join(f"{_name(process)} (process {process.name})" for process in found[:3])
            return Holder(names if listens else f"a connection of {names}", listens)
    is_over = sockets and all(inode == _ENDED for _, inode in sockets)
    return Holder("a connection that has just ended", listens=False) if is_over else None


def _sockets(table: Path, port: int) -> Iterator[tuple[str, str]]:
    """State and inode of those that have the local port.

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


def _open_files(process: Path) -> Iterator[str]:
    """Where the open files of a process lead; nothing for those of other users, and of one that has ended."""
    try:
        files = list((process / "fd").iterdir())
    except OSError:
        return
    for file in files:
        try:
            yield str(file.readlink())
        except OSError:  # it was closed meanwhile
            continue


def _name(process: Path) -> str:
    try:
        return printable((process / "comm").read_text(encoding="utf-8", errors="replace").strip())
    except OSError:
        return "a program"
