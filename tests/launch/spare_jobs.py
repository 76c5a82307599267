"""Jobs with spare servers on the hosts of a lab, started over ssh from this machine, some of which lose a host."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hccl_kit.table import formats
from tests.lab.hosts import Hosts
from tests.launch.jobs import TABLE, command_lines
from tests.launch.nodes import RANKS, NodesJob, table_of
from tests.places import ROOT
from tests.waiting import wait_until

CUT, KILL, CRASH = "cut", "kill", "crash"
LOSSES = (CUT, KILL, CRASH)
"""The cable is cut and processes keep running; all processes die, including sshd; both, as in a power failure."""
PROGRAM = (sys.executable, "-u", "-m", "benchmarks.spare_hosts_program")


def spare_options(folder: Path, names: Sequence[str]) -> tuple[str, ...]:
    """The options of `hccl-kit run` for these spares, whose cards are written to an inventory in `folder`."""
    lines = [
        f"{name}: {{{', '.join(f'{device}: 192.0.2.{200 + RANKS * number + device}' for device in range(RANKS))}}}\n"
        for number, name in enumerate(names)
    ]
    (folder / "spares.yaml").write_text("".join(lines), encoding="utf-8")
    return ("--spares", ",".join(names), "--inventory", "spares.yaml")


def lose(lab: Hosts, host: int, how: str) -> None:
    """Disconnect a host, and optionally kill everything that runs on it."""
    if how in (CUT, CRASH):
        lab.cut(host)
    if how in (KILL, CRASH):
        for process in lab.processes(host):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


@dataclass(frozen=True)
class SpareJob(NodesJob):
    """A job whose ranks are on the first `servers` hosts of the lab; the other hosts are spares."""

    servers: int = 2

    def begin(self, *, steps: int) -> subprocess.Popen[str]:
        """Start the job from this machine."""
        assert self.lab
        options = spare_options(self.folder, self.lab.addresses[self.servers :])
        # PYTHON_ is the beginning of variables that are passed on.
        environ = self.environ({"PYTHON_STEPS": str(steps), "PYTHONPATH": str(ROOT)})
        with (self.folder / "screen").open("w") as screen:
            return subprocess.Popen(
                self.words(*options),
                cwd=self.folder,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=screen,
                stderr=screen,
                text=True,
                start_new_session=True,
            )

    @property
    def screen(self) -> str:
        return (self.folder / "screen").read_text(encoding="utf-8", errors="replace")

    def step(self, attempt: int) -> int:
        """The last step of an attempt; 0 if there is none."""
        logs = self.logs / f"restart_{attempt}" if attempt else self.logs
        found = 0
        for path in logs.glob("step_*"):
            with suppress(ValueError, OSError):
                found = max(found, int(path.read_text() or 0))
        return found

    def where(self, attempt: int) -> dict[int, dict[str, Any]]:
        """Host, device and table of each rank of an attempt."""
        paths = (self.folder / "shared").glob(f"where_{attempt}_*[0-9]")
        return {int(path.name.split("_")[2]): json.loads(path.read_text()) for path in paths if "." not in path.name}

    def results(self) -> list[str]:
        """The digest of the parameters of each rank at the end."""
        ranks = range(self.servers * RANKS)
        paths = [self.folder / "shared" / f"result_{rank}" for rank in ranks]
        return [hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else "none" for path in paths]

    def lose_host(self, host: int, how: str) -> None:
        assert self.lab
        lose(self.lab, host, how)

    def left(self, seconds: float = 3.0) -> list[str]:
        """The processes of the job that still exist after `seconds`."""
        wait_until(lambda: not self.processes(), seconds)
        return self.processes()


@contextmanager
def spare_job(folder: Path, lab: Hosts, servers: int) -> Iterator[SpareJob]:
    """A job of the program of `benchmarks.spare_hosts`."""
    (folder / "shared").mkdir()
    (folder / TABLE).write_text(formats.write(table_of(lab.addresses[:servers])), encoding="utf-8")
    run = f'cd {ROOT} && SHARED={folder}/shared STEPS=$PYTHON_STEPS exec "$0" "$@"'
    job = SpareJob(folder, ("bash", "-c", run, *PROGRAM), lab, ("-m", "hccl_kit"), servers)
    try:
        yield job
    finally:
        for pid, line in command_lines():
            if str(folder) in line and pid != os.getpid():
                with suppress(OSError):  # it ended meanwhile
                    os.kill(pid, signal.SIGKILL)
