"""Launch scripts in a separate folder, which are really started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from hccl_kit.launch.emitters import bash
from hccl_kit.launch.files import TableFile
from hccl_kit.launch.passed_on import OF_THIS_HOST, is_passed_on
from hccl_kit.launch.plan import LaunchPlan, plan
from hccl_kit.runtime.worker_env import DIAGNOSE, MISLEADING, NAMES
from hccl_kit.table import formats
from hccl_kit.table.model import RankTable
from hccl_kit.table.operations.generate import generate
from tests.waiting import PATIENCE

TABLE = "table.json"
SCRIPT = "ascend.sh"


def table(ranks: int = 4, *, first: int = 4) -> RankTable:
    """Ranks 0, 1, ... on devices first, first + 1, ..."""
    return generate("127.0.0.1", [(first + rank, f"192.0.2.{rank + 1}") for rank in range(ranks)])


@dataclass(frozen=True)
class Job:
    """A script and its table in `folder`, which every process of the job has in its command line."""

    folder: Path
    plan: LaunchPlan

    @property
    def script(self) -> Path:
        return self.folder / SCRIPT

    @property
    def logs(self) -> Path:
        """The log folder of the only run."""
        (run,) = (path for path in (self.folder / "hccl_logs").iterdir() if not path.is_symlink())
        return run

    def log(self, rank: int) -> str:
        return (self.logs / f"rank_{rank}.log").read_text(encoding="utf-8")

    def start(
        self, *arguments: str, environ: Mapping[str, str] | None = None, stderr: int = subprocess.PIPE
    ) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["bash", self.script, *arguments],
            cwd=self.folder,
            env=clean_environ(environ),
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            start_new_session=True,
        )

    def run(self, *arguments: str, environ: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return finish(self.start(*arguments, environ=environ))

    def processes(self) -> list[str]:
        """The command lines of the remaining processes of the job."""
        return [line for _, line in command_lines() if str(self.folder) in line]


def command_lines() -> list[tuple[int, str]]:
    """The processes of this host, with their command lines."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # it ended meanwhile
            continue
        lines.append((int(path.parent.name), line))
    return lines


def make_job(folder: Path, command: Sequence[str] | None, *, ranks: int = 4, table_name: str = TABLE) -> Job:
    made = plan(table(ranks), command)
    text = formats.write(table(ranks))
    (folder / table_name).write_text(text, encoding="utf-8")
    (folder / SCRIPT).write_text(bash.script(made, TableFile(table_name, text), SCRIPT), encoding="utf-8")
    return Job(folder, made)


def python_job(folder: Path, program: str, *, ranks: int = 4) -> Job:
    """A job whose ranks run `program`, with `rank` and a few modules predefined."""
    path = folder / "program.py"
    path.write_text(
        f"import json, os, signal, subprocess, sys, time\nrank = int(os.environ['RANK'])\n{program}\n", encoding="utf-8"
    )
    return make_job(folder, (sys.executable, "-u", str(path)), ranks=ranks)


def clean_environ(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment without variables of launchers and those that only this user has, and with this python
    first on PATH.

    A failed job is not diagnosed unless `more` enables it: most tests check the last lines on the screen.
    """
    contract = {name for names in NAMES.values() for name in names} | set(MISLEADING)
    kept = [name for name in os.environ if is_passed_on(name) or any(fnmatchcase(name, one) for one in OF_THIS_HOST)]
    environ = {name: os.environ[name] for name in kept if name not in contract}
    environ["PATH"] = f"{Path(sys.executable).parent}:{environ['PATH']}"
    return {**environ, DIAGNOSE: "0", **(more or {})}


def finish(process: subprocess.Popen[str], seconds: float = PATIENCE) -> subprocess.CompletedProcess[str]:
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def all_ready(job: Job) -> bool:
    """Every rank has printed "ready"."""
    logs = {path.resolve() for path in job.folder.glob("hccl_logs/*/rank_*.log")}  # `latest` is a link
    return len(logs) == len(job.plan.workers) and all("ready\n" in log.read_text() for log in logs)
