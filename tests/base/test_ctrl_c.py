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
def test_a_program_that_is_interrupted_while_it_loads_says_so(arguments: list[str], tmp_path: Path) -> None:
    done = started(arguments, "KeyboardInterrupt", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


def test_another_exception_keeps_its_traceback(tmp_path: Path) -> None:
    done = started(["-m", "hccl_kit.cli.check"], 'RuntimeError("broken")', tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback")
    assert done.stderr.endswith("RuntimeError: broken\n")
