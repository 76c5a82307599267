"""Programs of other frameworks, unchanged, under `hccl-kit run` and under the script of one server."""

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from hccl_kit.agent.machine import threads
from hccl_kit.launch.emitters import bash
from hccl_kit.launch.files import TableFile
from hccl_kit.launch.plan import plan
from hccl_kit.table import formats
from tests.launch.jobs import SCRIPT, TABLE, clean_environ, table
from tests.launch.programs import PACKAGES, PROGRAMS, expected, seen

PLAIN = "import os\nprint('rank', os.environ['RANK_ID'], 'of', os.environ['RANK_SIZE'])\n"
MINDSPORE = """
import mindspore
from mindspore import Tensor, nn
network = nn.Dense(4, 1)
assert network(Tensor([[1.0, 2.0, 3.0, 4.0]], mindspore.float32)).shape == (1, 1)
"""
"""A program of MindSpore on CPU, where its own `init` needs mpirun or msrun."""

Start = Callable[[Path, Sequence[str]], "subprocess.CompletedProcess[str]"]


def by_run(folder: Path, command: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    kit = [sys.executable, "-m", "hccl_kit.cli.kit", "run", TABLE, "--framework", "pytorch", "--", *command]
    return subprocess.run(kit, cwd=folder, env=clean_environ(), capture_output=True, text=True, check=False)


def by_script(folder: Path, command: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    made = plan(table(2), command, framework="pytorch")
    (script,) = bash.emit(made, TableFile(TABLE, (folder / TABLE).read_text()))
    (folder / SCRIPT).write_text(script.text, encoding="utf-8")
    return subprocess.run(
        ["bash", SCRIPT], cwd=folder, env=clean_environ(), capture_output=True, text=True, check=False
    )


def run(folder: Path, start: Start, program: str) -> str:
    """The logs of two ranks of a program."""
    (folder / TABLE).write_text(formats.write(table(2)), encoding="utf-8")
    (folder / "program.py").write_text(program, encoding="utf-8")
    done = start(folder, (sys.executable, "-u", "program.py"))
    assert done.returncode == 0, done.stderr
    return "".join((folder / "hccl_logs" / "latest" / f"rank_{rank}.log").read_text() for rank in range(2))


@pytest.mark.parametrize("start", [by_run, by_script])
def test_a_program_that_knows_nothing_of_the_kit_runs(tmp_path: Path, start: Start) -> None:
    assert run(tmp_path, start, PLAIN) == "rank 0 of 2\nrank 1 of 2\n"


@pytest.mark.parametrize("start", [by_run, by_script])
def test_a_program_of_mindspore_runs(tmp_path: Path, start: Start) -> None:
    pytest.importorskip("mindspore")
    logs = run(tmp_path, start, MINDSPORE + PLAIN)
    assert [line for line in logs.splitlines() if line.startswith("rank ")] == ["rank 0 of 2", "rank 1 of 2"]


LIBRARIES = ("accelerate", "trainer", "lightning")
STARTS = [
    *(("ddp", start) for start in (by_run, by_script)),
    *((name, by_run) for name in LIBRARIES),
    *(pytest.param(name, by_script, marks=pytest.mark.long) for name in LIBRARIES),
]


@pytest.mark.torch
@pytest.mark.parametrize(("name", "start"), STARTS)
def test_a_program_of_torch_trains_unchanged(tmp_path: Path, name: str, start: Start) -> None:
    for package in PACKAGES[name]:
        pytest.importorskip(package)
    assert seen(run(tmp_path, start, PROGRAMS[name])) == expected(1, 2, threads(2, {}))
