"""Real runs of hccl-kit selftest, whose ranks a test may disturb."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

import hccl_kit
from hccl_kit.base.schemas import load
from tests.waiting import wait_until

PROGRAM = [sys.executable, "-m", "hccl_kit", "selftest"]
PATIENCE = 900.0
"""Seconds; other programs may use the cores."""


def table(folder: Path, ranks: int) -> Path:
    """A table of one server."""
    made = hccl_kit.generate("10.0.0.1", [(device, f"192.168.{100 + device}.1") for device in range(ranks)])
    path = folder / "hccl.json"
    path.write_text(hccl_kit.to_text(made))
    return path


def run(*arguments: str | Path, environ: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run the program to its end."""
    return subprocess.run(
        [*PROGRAM, *map(str, arguments)],
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **(environ or {})},
    )


def start(*arguments: str | Path) -> subprocess.Popen[str]:
    """Start the program."""
    return subprocess.Popen(
        [*PROGRAM, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def report(done: subprocess.CompletedProcess[str]) -> Any:
    """The JSON report of a run, which must match the schema."""
    assert done.stdout, done.stderr
    document = json.loads(done.stdout)
    Draft202012Validator(load("selftest_report")).validate(document)
    assert done.returncode == (0 if document["ok"] else 1)
    return document


def ended(process: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    """Wait for the end of a started program."""
    out, err = process.communicate(timeout=PATIENCE)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def ranks_of(process: subprocess.Popen[str]) -> dict[int, int]:
    """The process of each rank below a program, if it has imported its framework."""
    found = {}
    for pid in _descendants(process.pid):
        command = Path(f"/proc/{pid}/cmdline")
        with suppress(OSError):
            words = command.read_text().split("\0")
            if "hccl_kit.selftest.ranks.worker" in words and "-n" not in words:
                environ = dict(
                    line.split("=", 1) for line in Path(f"/proc/{pid}/environ").read_text().split("\0") if "=" in line
                )
                rank = environ.get("OMPI_COMM_WORLD_RANK") or environ.get("RANK")
                if rank is not None and _has_loaded(pid):
                    found[int(rank)] = pid
    return found


def _has_loaded(pid: int) -> bool:
    """Whether it has started to compute: numpy is imported after the framework, for the first step."""
    maps = Path(f"/proc/{pid}/maps").read_text()
    return "numpy" in maps and "libc" in maps


def _descendants(pid: int) -> list[int]:
    found, level = [], [pid]
    while level:
        children: list[int] = []
        for one in level:
            with suppress(OSError):
                for task in Path(f"/proc/{one}/task").iterdir():
                    children += map(int, (task / "children").read_text().split())
        found += children
        level = children
    return found


def left_behind(process: subprocess.Popen[str], pids: list[int]) -> list[int]:
    """The processes of a run that still exist some seconds after its end."""
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), 5)
    return [pid for pid in pids if Path(f"/proc/{pid}").exists()] + _descendants(process.pid)
