"""The parts of scripts: shell fragments, and programs for Python 3.8 without this package."""

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from hccl_kit.launch.shell import fragment, program_text
from tests.launch.ways import assert_shellcheck
from tests.places import ROOT

PROGRAMS = ["rendezvous", "ssh_start", "msrun_worker"]
SCRIPTS = ROOT / "hccl_kit" / "launch" / "scripts"


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_two_parts_of_a_program_define_the_same_name(name: str) -> None:
    body = ast.parse(program_text(name), feature_version=(3, 8)).body
    defined = [node.name for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]
    targets = [target for node in body if isinstance(node, ast.Assign) for target in node.targets]
    defined += [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]
    assert [one for one, count in Counter(defined).items() if count > 1] == []


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_imports_only_the_standard_library(name: str) -> None:
    tree = ast.parse(program_text(name))
    plain = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    parts = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {module.partition(".")[0] for module in plain | parts} <= sys.stdlib_module_names


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_can_be_imported_without_this_package(name: str) -> None:
    """As a module without side effects, by a Python without site packages."""
    reader = "import sys; exec(compile(sys.stdin.read(), 'program', 'exec'), {'__name__': 'program'})"
    command = [sys.executable, "-I", "-S", "-c", reader]
    done = subprocess.run(command, check=False, input=program_text(name), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("path", sorted(SCRIPTS.glob("*/*.sh")), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_fragment_begins_with_a_comment_that_is_stripped(path: Path) -> None:
    header, _, body = path.read_text(encoding="utf-8").partition("\n\n")
    assert all(line.startswith("# ") for line in header.split("\n"))
    assert "\n".join(fragment(f"{path.parent.name}/{path.stem}")) == "\n" + body.rstrip("\n")
    assert_shellcheck(path)
