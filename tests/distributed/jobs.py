"""Jobs of real ranks: their options, how they are started, and the processes that are left of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.launch.jobs import clean_environ, command_lines
from tests.ocr.run_tool import CONFIG, OURS
from tests.places import ROOT

TRAIN = ROOT / "tools" / "train.py"
DUMP = Path(__file__).parent / "dump.py"
PATIENCE = 600.0
"""Timeout of a test in seconds; the longest job takes a twentieth of it on an idle machine."""
Command = Sequence[str | Path]


@dataclass(frozen=True)
class Job:
    """A folder that every rank has in its command line and writes into, and the training images."""

    folder: Path
    words: Path

    def train(self, *overrides: str, program: Path = TRAIN, config: Path = CONFIG) -> list[str]:
        """The command of one rank: by default ten steps of eight images."""
        return [sys.executable, "-u", str(program), "-c", str(config), *self.options(*overrides)]

    def options(self, *overrides: str) -> list[str]:
        places = [f"{section}.dataset.dataset_root={self.words}" for section in ("train", "eval")]
        return [
            *("-o", *places, f"train.ckpt_save_dir={self.folder / 'run'}"),
            *("train.loader.batch_size=8", "train.max_steps=10", "system.log_interval=1", *overrides),
        ]

    def script(self, *overrides: str, program: Path = TRAIN, config: Path = CONFIG) -> list[str | Path]:
        """The command that starts two ranks with the script that hccl-gen writes into the folder."""
        gen = [sys.executable, "-m", "hccl_kit.cli.gen", "--device_num", "[0,2)", "--simulate"]
        done = self.run([*gen, "-o", self.folder, "--", *self.train(*overrides, program=program, config=config)])
        assert done.returncode == 0, done.stderr
        return ["bash", self.folder / "ascend2p.sh"]

    def start(
        self, command: Command, environ: Mapping[str, str] | None = None, *, cwd: Path | None = None
    ) -> subprocess.Popen[str]:
        variables = {**clean_environ(), "PYTHONPATH": str(ROOT), **(environ or {})}
        return subprocess.Popen(
            command,
            cwd=cwd or self.folder,
            env={name: value for name, value in variables.items() if name not in OURS},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def finish(self, process: subprocess.Popen[str], seconds: float = PATIENCE) -> subprocess.CompletedProcess[str]:
        """Wait for the end; whatever happens, no process of the job is left."""
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def run(self, command: Command, environ: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return self.finish(self.start(command, environ))

    def processes(self) -> list[int]:
        """The processes with the folder in their command line."""
        return [pid for pid, line in command_lines() if str(self.folder) in line]

    def process_of_rank(self, rank: int) -> int:
        """The process that was started with RANK=`rank`."""
        for process in self.processes():
            with suppress(OSError):  # it ended meanwhile
                if f"RANK={rank}".encode() in Path(f"/proc/{process}/environ").read_bytes().split(b"\0"):
                    return process
        raise AssertionError(f"rank {rank} does not run")

    def kill(self) -> None:
        """Kill the remaining processes of the job."""
        for process in self.processes():
            with suppress(ProcessLookupError):  # it ended meanwhile
                os.kill(process, signal.SIGKILL)

    @property
    def summary(self) -> dict[str, Any]:
        values: dict[str, Any] = json.loads((self.folder / "run" / "summary.json").read_text(encoding="utf-8"))
        return values


def torch_names(rank: int, port: int) -> dict[str, str]:
    """The rendezvous variables of torch for rank `rank` of two."""
    return {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
