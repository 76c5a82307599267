"""Ctrl-C while a program loads its modules."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.launch.jobs import clean_environ
from tests.places import ROOT

TOOLS = sorted(path.name for path in (ROOT / "tools").glob("*.py"))
INTERRUPTED_BY_AN_IMPORT = """
import sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "hccl_kit.base.arguments":
            raise {error}

sys.meta_path.insert(0, Finder())
"""
RAISED_WHERE_IT_IS_IGNORED = """
import builtins, sys
from hccl_kit.base import ctrl_c

class Thing:
    def __del__(self):
        raise getattr(builtins, sys.argv[1])

Thing()
print("goes on")
"""


def started(arguments: list[str], error: str, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "sitecustomize.py").write_text(INTERRUPTED_BY_AN_IMPORT.format(error=error), encoding="utf-8")
    environ = clean_environ({"PYTHONPATH": f"{folder}:{ROOT}"})
    return subprocess.run([sys.executable, *arguments], env=environ, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "arguments",
    [
        *([str(ROOT / "tools" / name)] for name in TOOLS),
        *(["-m", f"hccl_kit.cli.{name}"] for name in ("check", "gen", "merge")),
        ["-m", "hccl_kit.cli.kit", "rules"],
    ],
    ids=lambda arguments: arguments[-1].rpartition("/")[2],
)
def test_a_program_interrupted_during_import_reports_it(arguments: list[str], tmp_path: Path) -> None:
    done = started(arguments, "KeyboardInterrupt", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


def test_another_exception_keeps_its_traceback(tmp_path: Path) -> None:
    done = started(["-m", "hccl_kit.cli.check"], 'RuntimeError("broken")', tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback")
    assert done.stderr.endswith("RuntimeError: broken\n")


def test_an_interrupt_that_python_ignores_ends_the_program(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(RAISED_WHERE_IT_IS_IGNORED)
    environ = clean_environ({"PYTHONPATH": str(ROOT)})
    command = [sys.executable, str(tmp_path / "program.py")]
    done = subprocess.run([*command, "KeyboardInterrupt"], env=environ, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")
    done = subprocess.run([*command, "RuntimeError"], env=environ, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "goes on\n")
    assert done.stderr.startswith("Exception ignored in: <function Thing.__del__")
