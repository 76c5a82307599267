"""Which process listens on a port, as far as /proc tells this user."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from hccl_kit.screen import printable

_LISTENS = "0A"


def holder(port: int, root: Path = Path("/")) -> str | None:
    """The processes that listen on `port`, such as "python (process 4711)"; None where none can be seen."""
    proc = root / "proc"
    sockets = {f"socket:[{inode}]" for table in ("tcp", "tcp6") for inode in _inodes(proc / "net" / table, port)}
    found = [process for process in _processes(proc) if sockets & set(_open_files(process))] if sockets else []
    return " and ".join(f"{_name(process)} (process {process.name})" for process in found[:3]) or None


def _inodes(table: Path, port: int) -> Iterator[str]:
    """Columns: number, local address:port in hex, remote, state, queues, timers, retransmits, user, timeout, inode."""
    try:
        lines = table.read_text(encoding="ascii", errors="replace").splitlines()[1:]
    except OSError:
        return
    for line in lines:
        words = line.split()
        if len(words) > 9 and words[3] == _LISTENS and words[1].endswith(f":{port:04X}"):
            yield words[9]


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
