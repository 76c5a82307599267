"""The agent runs where nothing is installed but an old Python."""

import ast
import collections.abc
import shutil
import subprocess
import sys
import zipapp
from pathlib import Path

import pytest

import hccl_kit.agent
import hccl_kit.pod
from tests.agent import alone
from tests.agent.jobs import python_job

ROOM = Path(hccl_kit.agent.__file__).parent
MOST = 60_000
"""Bytes of the agent as one file: it is sent to every server of a job."""


POD = Path(hccl_kit.pod.__file__).parent


def test_the_agent_imports_the_standard_library_only_and_is_written_for_python_3_8() -> None:
    known = {*sys.stdlib_module_names, "hccl_kit", "ray"}
    for path in (*ROOM.glob("*.py"), *POD.glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 8))
        for node in ast.walk(tree):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names = [name.name for name in node.names] if isinstance(node, ast.Import) else names
            for name in names:
                assert name.partition(".")[0] in known, path
                of_kit = ("hccl_kit.agent", "hccl_kit.pod") if path.parent == POD else ("hccl_kit.agent",)
                assert not name.startswith("hccl_kit.") or name.startswith(of_kit), path


def test_no_module_makes_a_generic_type_when_it_is_loaded() -> None:
    """Python 3.8 refuses `Mapping[str, str]` as a value; where it is not installed, only this test tells."""
    generic = {"dict", "list", "tuple", "set", "frozenset", "type", *collections.abc.__all__}
    for path in (*ROOM.glob("*.py"), *POD.glob("*.py")):
        values = [node.value for node in ast.parse(path.read_text()).body if isinstance(node, ast.Assign)]
        made = [value.value for value in values if isinstance(value, ast.Subscript)]
        assert not [node.id for node in made if isinstance(node, ast.Name) and node.id in generic], path


@pytest.fixture(scope="module")
def one_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("agent")
    room = folder / "source" / "hccl_kit" / "agent"
    shutil.copytree(ROOM, room, ignore=shutil.ignore_patterns("__pycache__"))
    (room.parent / "__init__.py").touch()
    shutil.copy(Path(alone.__file__), folder / "source" / "__main__.py")
    zipapp.create_archive(folder / "source", folder / "agent.pyz", compressed=True)
    return folder / "agent.pyz"


def interpreters() -> list[str]:
    return [found for name in ("python3.8", "python3.9", "python3") if (found := shutil.which(name)) and works(found)]


def works(python: str) -> bool:
    return subprocess.run([python, "-I", "-c", ""], check=False, capture_output=True).returncode == 0


@pytest.mark.parametrize("python", interpreters())
def test_it_runs_as_one_file(tmp_path: Path, one_file: Path, python: str) -> None:
    assert one_file.stat().st_size < MOST
    child = "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)', __file__], start_new_session=True)"
    job = python_job(tmp_path, f"{child}; sys.exit(3)")
    done = subprocess.run(
        [python, "-I", one_file], input=job.assignment.to_json(), check=False, capture_output=True, text=True
    )
    assert done.returncode == 3
    assert "error: rank " in done.stderr
    assert job.processes() == []
