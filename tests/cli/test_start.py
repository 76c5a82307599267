"""Which modules the programs import at start: each takes a fraction of a millisecond, some take several."""

import json
import subprocess
import sys
from pathlib import Path

from tests.tables import value

CHECK = "from hccl_kit.cli.check import main; assert main(sys.argv[1:]) == 0"
HELP = """
from hccl_kit.cli.gen import main
try:
    main(["--help"])
except SystemExit:
    pass
"""
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


def ours(modules: set[str]) -> set[str]:
    return {name for name in modules if name.startswith("hccl_kit")}


def test_a_check_of_a_valid_table_loads_no_slow_module(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(json.dumps(value()), encoding="utf-8")
    assert loaded(CHECK, "t.json", cwd=tmp_path).isdisjoint(SLOW)


def test_a_project_file_without_our_settings_is_not_parsed(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(json.dumps(value()), encoding="utf-8")
    project = '[project]\ndependencies = ["hccl-kit"]\n[project.scripts]\nhccl-kit = "x:y"\n[tool.ruff]\nfix = true\n'
    (tmp_path / "pyproject.toml").write_text(project, encoding="utf-8")
    assert loaded(CHECK, "t.json", cwd=tmp_path).isdisjoint(SLOW)


def test_the_help_of_hccl_gen_loads_few_modules(tmp_path: Path) -> None:
    modules = loaded(HELP, cwd=tmp_path)
    assert modules.isdisjoint(
        {"typing", "json", "pathlib", "dataclasses", "inspect", "hccl_kit.table", "hccl_kit.check"}
    )
    assert len(ours(modules)) <= 13
    assert len(modules) <= 50
