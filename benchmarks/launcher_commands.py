"""The launchers that launchers.py compares: how each starts a worker on this host, and whether it is installed."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

BIN = Path(sys.executable).parent
HERE = Path(__file__).parent
MINDSPORE, TORCH = "MindSpore", "torch"
PATIENCE = 20.0
"""Seconds in which a launcher prints its version, or Slurm runs `true`."""


@dataclass(frozen=True)
class Launcher:
    """A launcher. `command` makes the argv for a number of ranks that write into a folder; its preparation is not
    timed. `cancel` removes what the launcher leaves besides processes. `absent` is why it cannot be measured here."""

    name: str
    framework: str
    command: Callable[[int, Path], list[str]]
    version: str = ""
    absent: str = ""
    cancel: Callable[[Path], list[str]] | None = None

    @property
    def baseline(self) -> str:
        """The launcher that comes with the framework; the others are compared with it."""
        return "msrun" if self.framework == MINDSPORE else "torchrun"


def worker(framework: str, python: str) -> list[str]:
    """The command of a rank."""
    return [python, "-u", str(HERE / ("launched_mindspore.py" if framework == MINDSPORE else "launched_torch.py"))]


def script(name: str, framework: str, python: str) -> Launcher:
    """The script of hccl-gen."""

    def command(ranks: int, folder: Path) -> list[str]:
        generate(ranks, folder, worker(framework, python))
        return ["bash", str(folder / f"ascend{ranks}p.sh")]

    return Launcher(name, framework, command, absent=missing(framework, python))


def run(name: str, framework: str, python: str) -> Launcher:
    """hccl-kit run, with a table of hccl-gen."""

    def command(ranks: int, folder: Path) -> list[str]:
        generate(ranks, folder, ["true"])
        (table,) = folder.glob("hccl_*.json")
        kit = [sys.executable, "-m", "hccl_kit.cli.kit", "run", str(table), "--log-dir", str(folder / "hccl_logs")]
        return [*kit, "--", *worker(framework, python)]

    return Launcher(name, framework, command, absent=missing(framework, python))


def generate(ranks: int, folder: Path, command: list[str]) -> None:
    """Write a table and a script into a folder."""
    gen = [sys.executable, "-m", "hccl_kit.cli.gen", "--device_num", f"[0,{ranks})", "--simulate"]
    environ = {**os.environ, "PYTHONPATH": str(HERE.parent)}
    written = [*gen, "-o", str(folder), "--", *command]
    subprocess.run(written, env=environ, check=True, capture_output=True, timeout=PATIENCE)


def missing(framework: str, python: str) -> str:
    """Why programs of a framework do not run with an interpreter; empty if they do."""
    return torch_of(python)[1] if framework == TORCH else ""


def msrun(name: str) -> Launcher:
    """As in its tutorial, but on a free port and with --join: without it msrun does not wait for its workers."""

    def command(ranks: int, folder: Path) -> list[str]:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        job = [f"--worker_num={ranks}", f"--local_worker_num={ranks}", f"--master_port={port}", "--join=True"]
        return [str(BIN / "msrun"), *job, f"--log_dir={folder / 'msrun'}", *worker(MINDSPORE, "python")]

    return Launcher(name, MINDSPORE, command, absent="" if (BIN / "msrun").exists() else f"no msrun in {BIN}")


def mpirun(name: str, program: str) -> Launcher:
    """Open MPI 4 or 5 with as many slots as ranks, and no binding to cores."""

    def command(ranks: int, folder: Path) -> list[str]:
        hosts = folder / "hosts"
        hosts.write_text(f"localhost slots={ranks}\n", encoding="utf-8")
        root = [] if os.geteuid() else ["--allow-run-as-root"]
        options = ["--hostfile", str(hosts), "-n", str(ranks), "--bind-to", "none", *root]
        return [program, *options, *worker(MINDSPORE, sys.executable)]

    version = first_line([program, "--version"])
    return Launcher(name, MINDSPORE, command, version, "" if version else f"{program} does not run")


def srun(name: str, *options: str) -> Launcher:
    """Slurm, if a cluster answers (SLURM_CONF names it): a job of one node."""

    def command(ranks: int, folder: Path) -> list[str]:
        job = ["-N", "1", "-n", str(ranks), f"--job-name={folder.name}", f"--chdir={folder}", *options]
        return ["srun", *job, *worker(MINDSPORE, sys.executable)]

    version = first_line(["srun", "--version"])
    answers = version and first_line(["srun", "-N", "1", "-n", "1", "--immediate=5", "echo", "here"])
    absent = "" if answers else "no Slurm answers; SLURM_CONF may name one"
    return Launcher(name, MINDSPORE, command, version, absent, lambda folder: ["scancel", f"--name={folder.name}"])


def torchrun(name: str, python: str) -> Launcher:
    """The launcher of torch."""

    def command(ranks: int, folder: Path) -> list[str]:
        launcher = [python, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
        return [*launcher, f"--log-dir={folder / 'torchrun'}", worker(TORCH, python)[-1]]

    return Launcher(name, TORCH, command, *torch_of(python))


def torch_of(python: str) -> tuple[str, str]:
    """The version of an interpreter's torch, or why it has none."""
    version = first_line([python, "-c", "import torch; print('torch', torch.__version__)"])
    return version, "" if version else f"{python} has no torch; --torch-python names one that has"


def path_without_ours() -> str:
    """PATH without the folder of this interpreter, which may hold an mpirun of its own."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if Path(folder).resolve() != BIN.resolve())


def first_line(argv: list[str]) -> str:
    """The first line that a program prints; empty if it does not run."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=PATIENCE, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip().split("\n")[0]


LAUNCHERS: Mapping[str, Callable[[str, str], Launcher]] = {
    "run": lambda name, _: run(name, MINDSPORE, sys.executable),
    "script": lambda name, _: script(name, MINDSPORE, sys.executable),
    "msrun": lambda name, _: msrun(name),
    "mpirun": lambda name, _: mpirun(name, str(BIN / "mpirun")),
    "system-mpirun": lambda name, _: mpirun(name, shutil.which("mpirun", path=path_without_ours()) or "mpirun"),
    "srun": lambda name, _: srun(name),
    "srun-K": lambda name, _: srun(name, "--kill-on-bad-exit=1"),
    "torchrun": torchrun,
    "run-torch": lambda name, python: run(name, TORCH, python),
    "script-torch": lambda name, python: script(name, TORCH, python),
}
"""Name -> function that finds this launcher, given its name and the interpreter that has torch."""
