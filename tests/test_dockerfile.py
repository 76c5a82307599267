"""The Dockerfile, as far as it can be checked without building an image."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import ROOT

TEXT = (ROOT / "Dockerfile").read_text(encoding="utf-8")


def test_hadolint_reports_nothing() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    if not hadolint.exists():
        pytest.skip("hadolint is not installed")
    done = subprocess.run([hadolint, "Dockerfile"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_its_commands_are_valid_shell() -> None:
    joined = re.sub(r"\\\n", "", re.sub(r"^#.*\n", "", TEXT, flags=re.MULTILINE))
    commands = re.findall(r"^RUN (.+)$", joined, re.MULTILINE)
    assert len(commands) == 4
    for command in commands:
        subprocess.run(["bash", "-n", "-c", command], check=True)


def test_the_entry_point_runs_the_command_and_sources_cann(tmp_path: Path) -> None:
    line = re.search(r"^ENTRYPOINT (.+)$", TEXT, re.MULTILINE)
    assert line
    (tmp_path / "ascend-toolkit").mkdir()
    (tmp_path / "ascend-toolkit" / "set_env.sh").write_text("export ASCEND_HOME_PATH=here\n")
    entry = [word.replace("/usr/local/Ascend", str(tmp_path)) for word in json.loads(line[1])]
    command = [*entry, "sh", "-c", 'echo "$ASCEND_HOME_PATH" "$1"', "sh", "a b"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={"PATH": "/usr/bin:/bin"})
    assert done.stdout == "here a b\n"


def test_the_build_context_has_all_files_for_the_wheel() -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split("\n")
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    included = re.findall(r'^"(\w+)" = "', project, re.MULTILINE)
    assert {"schemas", "man"} <= set(included)
    assert not {"hccl_kit", "README.md", "LICENSE", "CHANGELOG.md", "pyproject.toml", *included} & set(ignored)
