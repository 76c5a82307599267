"""Jobs of our batch script on a real Slurm of two nodes."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hccl_kit.launch.emitters import slurm
from hccl_kit.launch.plan import LaunchPlan
from hccl_kit.table.model import RankTable
from tests.lab.slurm import Cluster
from tests.launch import jobs
from tests.launch.ways import planned, servers, write
from tests.places import ROOT
from tests.waiting import wait_until

START = f"""
import json, os, signal, socket, sys, time
sys.path.insert(0, {str(ROOT)!r})
from hccl_kit.runtime.failure import record
from hccl_kit.runtime.detect import detect
found = detect(os.environ)
rank, restart = found.env.rank, os.environ.get("HCCL_KIT_RESTART")
note = dict(host=socket.gethostname(), argv=sys.argv[1:], cwd=os.getcwd(), restart=restart, launcher=found.launcher)
note["parent"] = open(f"/proc/{{os.getppid()}}/comm").read()
note |= dict(env=[getattr(found.env, name) for name in found.env.__slots__], environ=dict(os.environ))
path = os.path.dirname(sys.argv[0]) + f"/note_{{rank}}_{{restart or 0}}"
with open(path, "w") as file:
    json.dump(note, file)
print("rank", rank, "is here", flush=True)
"""


@dataclass(frozen=True)
class Job:
    """A script in `folder`, which every rank has in its command line, submitted from the folder `home`."""

    lab: Cluster
    folder: Path
    script: Path
    plan: LaunchPlan

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def submit(self, *arguments: str, options: Sequence[str] = (), environ: dict[str, str] | None = None) -> str:
        self.home.mkdir(exist_ok=True)
        options = [*options, f"--output={self.home}/out"]
        environ = {"PATH": os.defpath, **(environ or {})}  # without hccl-kit, which would start the ranks
        return self.lab.submit([*options, self.script, *arguments], folder=self.home, environ=environ)

    def run(self, *arguments: str, options: Sequence[str] = (), environ: dict[str, str] | None = None) -> int:
        return self.lab.exit_code(self.submit(*arguments, options=options, environ=environ))

    @property
    def output(self) -> str:
        return (self.home / "out").read_text()

    @property
    def last(self) -> list[str]:
        """The output from the last message of the script on."""
        lines = self.output.splitlines()
        return lines[max(i for i, line in enumerate(lines) if line.startswith(("error: ", "ended "))) :]

    def note(self, rank: int, *, restart: int = 0) -> Any:
        return json.loads((self.folder / f"note_{rank}_{restart}").read_text())

    def all_say(self, word: str) -> bool:
        """Whether every rank has printed this to its log."""
        logs = self.home.glob("hccl_logs/slurm-*/rank_*.log")
        return sum(f"{word}\n" in log.read_text() for log in logs) == self.plan.size

    def all_run(self) -> bool:
        return self.all_say("is here")

    def nothing_left(self) -> bool:
        return wait_until(lambda: jobs.Job(self.folder, self.plan).processes() == [])


def make_job(
    lab: Cluster, folder: Path, table: RankTable, program: str = "", framework: str | None = None, **options: Any
) -> Job:
    """A job whose ranks record their environment, and then run `program`."""
    folder.mkdir(exist_ok=True)
    path = folder / "program.py"
    path.write_text(START + program, encoding="utf-8")
    plan, file = planned(table, sys.executable, "-u", str(path), framework=framework)
    script = write(folder, slurm.emit(plan, file, **{"gres": "npu:8", **options}))
    (folder / file.name).write_text(file.text)
    return Job(lab, folder, script, plan)


def two_nodes(*, first: Sequence[int] = (4, 5), second: Sequence[int] = (4, 5)) -> RankTable:
    """Rank 0 is on n2, although Slurm has n1 first."""
    return servers(first, second, ids=("n2", "n1"))
