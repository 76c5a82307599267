"""Which heavy modules a program does not import for what it does not need."""

import json
import subprocess
import sys
from pathlib import Path

from tests.tables import value

CHECK = "from hccl_kit.cli.check import main; assert main(sys.argv[1:]) == 0"
SLOW = ("jsonschema", "mindspore", "numpy", "tomllib", "yaml")
"""None of these is needed to check a valid table."""


def loaded(code: str, *arguments: str, cwd: Path) -> set[str]:
    """The modules that some code imports, beyond those of a bare interpreter."""
    printing = "import sys\nbefore = set(sys.modules)\n{}\nprint(*sorted(set(sys.modules) - before), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", printing.format(code), *arguments],
        capture_output=True,
        text=True,
        check=True,
        cwd=cwd,
    )
    return set(done.stderr.split())


def test_a_check_of_a_valid_table_loads_no_slow_module(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(json.dumps(value()), encoding="utf-8")
    assert loaded(CHECK, "t.json", cwd=tmp_path).isdisjoint(SLOW)


def test_a_project_file_without_our_settings_is_not_parsed(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(json.dumps(value()), encoding="utf-8")
    project = '[project]\ndependencies = ["hccl-kit"]\n[project.scripts]\nhccl-kit = "x:y"\n[tool.ruff]\nfix = true\n'
    (tmp_path / "pyproject.toml").write_text(project, encoding="utf-8")
    assert loaded(CHECK, "t.json", cwd=tmp_path).isdisjoint(SLOW)
