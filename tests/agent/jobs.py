"""Jobs under the agent, whose ranks are small programs in Python."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hccl_kit.agent.assignment import AssignedRank, Assignment, Limits
from tests.launch.jobs import command_lines, finish
from tests.places import ROOT

MARK = "HCCL_KIT_RUN_ID"
BEGIN = "import json, os, signal, subprocess, sys, time\nrank = int(os.environ['RANK'])\n"
STEP = "open(os.environ['HCCL_KIT_LOG_DIR'] + f'/step_{rank}', 'w').write"
"""The heartbeat, as a program without our package writes it."""


@dataclass(frozen=True)
class Job:
    """The agent with `assignment`; every process of the ranks has `folder` in its command line."""

    folder: Path
    assignment: Assignment

    @property
    def logs(self) -> Path:
        return Path(self.assignment.folder)

    def log(self, rank: int, restart: int = 0) -> str:
        return (Path(self.assignment.logs(restart)) / f"rank_{rank}.log").read_text(encoding="utf-8")

    def start(self, **options: Any) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.agent.alone"],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            cwd=self.folder,
            stdin=subprocess.PIPE,
            text=True,
            start_new_session=True,
            **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
        )
        assert process.stdin
        process.stdin.write(self.assignment.to_json())
        process.stdin.close()
        process.stdin = None
        return process

    def run(self, **options: Any) -> subprocess.CompletedProcess[str]:
        return finish(self.start(**options))

    def all_say(self, word: str) -> bool:
        logs = [self.logs / f"rank_{rank.rank}.log" for rank in self.assignment.ranks]
        return all(log.exists() and f"{word}\n" in log.read_text() for log in logs)

    def processes(self) -> list[str]:
        """The command lines of the remaining ranks, and of what they have started."""
        return [line for _, line in command_lines() if str(self.folder) in line]

    def of_rank(self, rank: int) -> list[tuple[int, str]]:
        """The processes that have the mark of the job and the number of the rank in their environment."""
        found = []
        for pid, line in command_lines():
            with suppress(OSError):  # it ended meanwhile
                variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
                if self.assignment.mark.encode() in variables and b"RANK=%d" % rank in variables:
                    found.append((pid, line))
        return found

    def guards(self) -> list[int]:
        return [pid for pid, line in command_lines() if self.assignment.mark in line]


def make_job(
    folder: Path, command: Sequence[str], *, ranks: int = 4, environ: Mapping[str, str] | None = None, **limits: Any
) -> Job:
    """Ranks 0, 1, ... on cards 4, 5, ..."""
    logs = folder / "logs"
    logs.mkdir()
    mark = f"{MARK}={folder.name}-{os.getpid()}"
    clean = {name: value for name, value in os.environ.items() if not name.startswith("HCCL_KIT")}
    given = {name: limits.pop(name) for name in Limits._fields if name in limits}
    assignment = Assignment(
        tuple(command),
        tuple(AssignedRank(rank, rank + 4, {"RANK": str(rank)}) for rank in range(ranks)),
        {**clean, **(environ or {}), MARK: mark.partition("=")[2]},
        mark,
        str(logs),
        "n1",
        "HCCL_KIT_LOG_DIR",
        restart_name="HCCL_KIT_RESTART",
        limits=Limits(**given),
        **limits,
    )
    return Job(folder, assignment)


def python_job(folder: Path, program: str, *, ranks: int = 4, **limits: Any) -> Job:
    """A job whose ranks run `program`, with `rank` and a few modules at hand."""
    path = folder / "program.py"
    path.write_text(f"{BEGIN}{program}\n", encoding="utf-8")
    return make_job(folder, (sys.executable, "-u", str(path)), ranks=ranks, **limits)
