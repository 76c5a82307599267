"""Which process holds a port, and which job a process belongs to, as far as this user may read /proc."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import reduce
from pathlib import Path
from typing import NamedTuple

from hccl_kit.base.message import Message
from hccl_kit.base.terminal import printable
from hccl_kit.base.wording import clauses, counted
from hccl_kit.runtime.worker_env import LOG_DIR, NAMES

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


MAX_ENVIRON = 1 << 18
"""Bytes that are read of the variables of a process."""
_MAX_NAME = 60
_CONTAINER = re.compile(
    r"(?:docker|crio|cri-containerd|containerd|libpod|kubepods|lxc)\S{0,300}?([0-9a-f]{12})[0-9a-f]{52}"
)


def job_of(process: Path) -> str:
    """Such as "rank 3 of hccl_logs/20261122-101500, Slurm job 812, container 3fa9c1d2e4b5, for 3 h"; "" if unknown."""
    return clauses(_parts(process))


def _parts(process: Path) -> Iterator[Message]:
    variables = _variables(process)
    folder = variables.get(LOG_DIR)
    rank = next((value for name in NAMES["rank"] if (value := variables.get(name)) and value.isdecimal()), None)
    if folder:
        run = _short("/".join(Path(folder).parts[-2:]))
        if rank:
            yield Message("preflight.rank-of-run", "rank {rank} of {run}", rank=_short(rank), run=run)
        else:
            yield Message("preflight.of-run", "of {run}", run=run)
    elif rank:
        yield Message("preflight.rank-of-job", "rank {rank} of a job", rank=_short(rank))
    slurm = variables.get("SLURM_JOB_ID", "")
    if slurm.isdecimal():
        yield Message("preflight.slurm-job", "Slurm job {id}", id=_short(slurm))
    if match := _CONTAINER.search(read(process / "cgroup")):
        yield Message("preflight.in-container", "container {id}", id=match[1])
    if age := _age(process):
        yield Message("preflight.runs-for", "for {time}", time=age)


def _variables(process: Path) -> Mapping[str, str]:
    """The variables that a process was started with; empty if it belongs to another user."""
    lines = read(process / "environ", MAX_ENVIRON).split("\0")
    return {name: value for name, mark, value in (line.partition("=") for line in lines) if mark}


def _age(process: Path) -> str:
    """How long a process has run: field 22 of its stat is its start in clock ticks since boot."""
    try:
        ticks = int(read(process / "stat", 4096).rpartition(")")[2].split()[19])
        up = float(read(process.parent / "uptime", 100).split()[0])
    except (IndexError, ValueError):
        return ""
    seconds = int(up - ticks / os.sysconf("SC_CLK_TCK"))
    if seconds >= 86_400:
        return counted(seconds // 86_400, "day")
    if seconds >= 3600:
        return Message("preflight.age-hours", "{hours} h", hours=seconds // 3600)
    if seconds >= 60:
        return Message("preflight.age-minutes", "{minutes} min", minutes=seconds // 60)
    return Message("preflight.age-seconds", "{seconds} s", seconds=seconds) if seconds >= 0 else ""


def _short(text: str) -> str:
    return printable(text if len(text) <= _MAX_NAME else f"...{text[-_MAX_NAME:]}")


def read(path: Path, size: int = 1 << 16) -> str:
    """The start of a file of the system; "" if it belongs to another user, or its process has ended."""
    try:
        with path.open("rb") as file:
            return file.read(size).decode("utf-8", "replace")
    except OSError:
        return ""
