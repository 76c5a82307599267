"""One job of launchers.py: start it, end it in one of five ways, and wait until no process is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.launched import END, FOLDER, ORDER, RAISE, VICTIM
from benchmarks.launcher_commands import BIN, HERE, Launcher
from hccl_kit.runtime.worker_env import MISLEADING, NAMES, RUN_ID

KILL, TERM_LAUNCHER, KILL_LAUNCHER = "kill", "TERM to the launcher", "KILL to the launcher"
ENDS = (END, RAISE, KILL, TERM_LAUNCHER, KILL_LAUNCHER)
LIMIT = 60.0
"""Seconds that a job has to reach its first all-reduce, and to end."""
ORPHAN_LIMIT = 10.0
"""Seconds after a signal to the launcher in which its processes have to be gone."""
SETTLED = 1.0
"""Seconds from the first all-reduce to the event that ends the job."""
OF_LAUNCHERS = ("OMPI_", "PMIX_", "PMI_", "PRTE_", "MS_", "TORCHELASTIC_", "GLOG_")


class JobError(Exception):
    """The job did not reach its first all-reduce; the message ends with its last output."""


@dataclass(frozen=True)
class Start:
    """Seconds from the start of the launcher to the end of the last rank's first all-reduce, and the parts of it, each
    by its last rank. `floor` belongs to the rank that waited longest."""

    total: float
    imports: float
    join: float
    floor: float | None

    @property
    def launcher(self) -> float:
        """Time that is neither the import of MindSpore or torch nor forming the group."""
        return self.total - self.imports - self.join


@dataclass(frozen=True)
class Outcome:
    """Seconds from the event that ended the job until no process was left; inf if `left` processes stayed.

    `code` is the launcher's exit code, 128 + signal if a signal killed it; None if it did not end.
    """

    start: Start
    seconds: float
    left: int
    code: int | None


def run(launcher: Launcher, ranks: int, end: str) -> Outcome:
    """Start a job and end it. Raises JobError if it does not start."""
    with tempfile.TemporaryDirectory(prefix="launchers") as name:
        folder = Path(name)
        command = launcher.command(ranks, folder)
        with (folder / "output").open("wb") as output:
            began = time.time()
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=environ(folder),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            rows = wait_for_ranks(folder, ranks, process)
            time.sleep(SETTLED)
            if not {row["pid"] for row in rows} <= set(processes(folder)):
                raise JobError("ranks are not seen by the mark of their job: orphans could not be counted")
            moment = time.time()
            bring_about(end, folder, rows, process)
            seconds, left = until_gone(folder, process, moment, ORPHAN_LIMIT if "launcher" in end else LIMIT)
            code = process.returncode
        finally:
            sweep(folder, process)
            if launcher.cancel:
                subprocess.run(launcher.cancel(folder), capture_output=True, timeout=LIMIT, check=False)
        return Outcome(start_of(rows, began), seconds, left, code if code is None or code >= 0 else 128 - code)


def environ(folder: Path) -> dict[str, str]:
    """The environment of this process without the variables of other launchers."""
    names = {RUN_ID, *MISLEADING, *(name for group in NAMES.values() for name in group)}
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in names and not name.startswith(OF_LAUNCHERS) and (name == "SLURM_CONF" or "SLURM" not in name)
    }
    path = f"{BIN}{os.pathsep}{kept.get('PATH', os.defpath)}"  # msrun starts "python"
    return {**kept, "PATH": path, "PYTHONPATH": str(HERE.parent), FOLDER: str(folder)}


def wait_for_ranks(folder: Path, ranks: int, launcher: subprocess.Popen[bytes]) -> list[dict[str, Any]]:
    """The records of the ranks, in order."""
    files = [folder / f"rank_{rank}.json" for rank in range(ranks)]
    last = time.monotonic() + LIMIT
    while not all(file.exists() for file in files):
        if time.monotonic() > last or launcher.poll() is not None:
            late = f"after {LIMIT:.0f} s" if launcher.returncode is None else f"exit code {launcher.returncode}"
            said = (folder / "output").read_text(encoding="utf-8", errors="replace").strip()
            raise JobError(f"no first all-reduce, {late}\n{said[-2000:]}")
        time.sleep(0.05)
    return [json.loads(file.read_text(encoding="utf-8")) for file in files]


def bring_about(end: str, folder: Path, rows: list[dict[str, Any]], launcher: subprocess.Popen[bytes]) -> None:
    """Cause the event that ends the job."""
    if end == KILL:
        os.kill(rows[VICTIM]["pid"], signal.SIGKILL)
    elif end == TERM_LAUNCHER:
        launcher.terminate()
    elif end == KILL_LAUNCHER:
        launcher.kill()
    else:
        part = folder / "order.part"
        part.write_text(end, encoding="utf-8")
        part.rename(folder / ORDER)


def until_gone(folder: Path, launcher: subprocess.Popen[bytes], since: float, limit: float) -> tuple[float, int]:
    """Seconds until the launcher and its processes are gone, and 0; or inf and the number that is left."""
    while True:
        launcher.poll()
        left = processes(folder)
        passed = time.time() - since
        if not left and launcher.returncode is not None:
            return passed, 0
        if passed > limit:
            return float("inf"), len(left)
        time.sleep(0.05)


def processes(folder: Path) -> list[int]:
    """Processes with the mark of the job in their environment, the launcher included, zombies not."""
    mark = os.fsencode(f"{FOLDER}={folder}")
    found = []
    for path in Path("/proc").iterdir():  # glob fails if a process ends meanwhile
        with suppress(OSError):  # it has ended, or belongs to another user
            if path.name.isdecimal() and mark in (path / "environ").read_bytes().split(b"\0"):
                found.append(int(path.name))
    return found


def sweep(folder: Path, launcher: subprocess.Popen[bytes]) -> None:
    """Kill the processes of the job until none is left."""
    last = time.monotonic() + ORPHAN_LIMIT
    while left := processes(folder):
        for process in left:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        if time.monotonic() > last:
            print(f"cannot end the processes {left}", file=sys.stderr)
            break
        time.sleep(0.05)
    launcher.kill()
    launcher.wait()


def start_of(rows: list[dict[str, Any]], began: float) -> Start:
    """The parts of the start, from the records of all ranks."""
    last = {name: max(row[name] for row in rows) for name in ("ready", "imported", "joined", "reduced")}
    floors = [row["floor"] for row in rows if row["floor"] is not None]
    return Start(
        total=last["reduced"] - began,
        imports=last["imported"] - last["ready"],
        join=last["joined"] - last["imported"],
        floor=max(floors, default=None),
    )
