"""The programs that launch scripts carry: one text each, for a Python that may be old and has nothing of ours."""

import ast
import subprocess
import sys
from collections import Counter

import pytest

from hccl_kit.launch.shell import program_text

PROGRAMS = ["rendezvous", "ssh_start"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_two_parts_of_a_program_define_the_same_name(name: str) -> None:
    body = ast.parse(program_text(name), feature_version=(3, 8)).body
    defined = [node.name for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]
    targets = [target for node in body if isinstance(node, ast.Assign) for target in node.targets]
    defined += [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]
    assert [one for one, count in Counter(defined).items() if count > 1] == []


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_imports_nothing_but_the_standard_library(name: str) -> None:
    tree = ast.parse(program_text(name))
    plain = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    parts = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {module.partition(".")[0] for module in plain | parts} <= sys.stdlib_module_names


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_read_without_ours(name: str) -> None:
    """As a module that does nothing, by a Python without site packages."""
    reader = "import sys; exec(compile(sys.stdin.read(), 'program', 'exec'), {'__name__': 'program'})"
    command = [sys.executable, "-I", "-S", "-c", reader]
    done = subprocess.run(command, check=False, input=program_text(name), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
