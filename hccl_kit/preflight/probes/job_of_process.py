"""Which job a process belongs to: the run of a launch script, a job of Slurm, a container; as far as /proc tells."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from hccl_kit.base.message import Message
from hccl_kit.base.terminal import printable
from hccl_kit.base.wording import clauses, counted
from hccl_kit.runtime.worker_env import LOG_DIR, NAMES

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
    if match := _CONTAINER.search(read(process / "cgroup", 1 << 16)):
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


def read(path: Path, size: int) -> str:
    """The start of a file of a process; "" if it belongs to another user, or the process has ended."""
    try:
        with path.open("rb") as file:
            return file.read(size).decode("utf-8", "replace")
    except OSError:
        return ""
