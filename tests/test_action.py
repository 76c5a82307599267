"""The GitHub action, whose steps are run like by the runner, and the pre-commit hook."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.test_check import BAD
from tests.places import ROOT
from tests.tables import text

ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
INSTALL, CHECK = ACTION["runs"]["steps"]


def step(found: Mapping[str, Any], cwd: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run a step of the action like `shell: bash` of the runner, with its expressions replaced."""
    values = {f"inputs.{name}": row["default"] for name, row in ACTION["inputs"].items()}
    values |= {f"inputs.{name}": value for name, value in inputs.items()}
    values["github.action_path"] = str(ROOT)
    environ = {
        name: re.sub(r"\$\{\{ (\S+) \}\}", lambda match: values[match[1]], text) for name, text in found["env"].items()
    }
    assert "${{" not in found["run"]  # untrusted text reaches the script only as a variable
    script = cwd / "step.sh"
    script.write_text(found["run"])
    command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)]
    environ = os.environ | environ | {"RUNNER_TEMP": str(cwd / "temp")}
    return subprocess.run(command, cwd=cwd, env=environ, capture_output=True, text=True, check=False)


def install(folder: Path) -> None:
    """Put the program hccl-check into `folder`."""
    folder.mkdir(parents=True)
    program = folder / "hccl-check"
    program.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m hccl_kit.cli.check "$@"\n')
    program.chmod(0o755)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with an invalid table, and hccl-kit at the path where the first step installs it."""
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "bad one.json").write_text(BAD)
    (tmp_path / "good.json").write_text(text())
    install(tmp_path / "temp" / "hccl-kit" / "bin")
    return tmp_path


def test_the_action_annotates_the_lines_of_a_repository(checkout: Path) -> None:
    done = step(CHECK, checkout)
    assert done.returncode == 1, done.stderr
    assert "::error file=tables/bad one.json,line=16,col=32" in done.stdout


@pytest.mark.parametrize(
    ("inputs", "code"),
    [
        ({"path": "good.json"}, 0),
        ({"path": "good.json\ntables/bad one.json\n"}, 1),
        ({"path": "good.json", "product": "a5"}, 1),
        ({"path": "$(touch ran)"}, 2),
        ({"path": "good.json", "product": '"; touch ran; "'}, 2),
        ({"path": "good.json", "product": "910 --help"}, 2),
        ({"path": "--version"}, 2),
    ],
)
def test_inputs_of_the_action_are_passed_safely(checkout: Path, inputs: dict[str, str], code: int) -> None:
    done = step(CHECK, checkout, **inputs)
    assert done.returncode == code, done.stdout + done.stderr
    assert not (checkout / "ran").exists()


@pytest.mark.parametrize(("inputs", "installed"), [({}, str(ROOT)), ({"version": "0.1.0"}, "hccl-kit==0.1.0")])
def test_the_action_installs_its_own_version_or_the_requested_one(
    tmp_path: Path, inputs: dict[str, str], installed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fake python3 on PATH creates a "virtual environment" whose python records its arguments."""
    fake = tmp_path / "bin" / "python3"
    fake.parent.mkdir()
    fake.write_text(
        '#!/bin/sh\nmkdir -p "$4/bin"\ncd "$4/bin"\nprintf \'#!/bin/sh\\necho "$@"\\n\' >python\nchmod +x python\n'
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    done = step(INSTALL, tmp_path, **inputs)
    assert (done.returncode, done.stdout) == (0, f"-I -m pip install --quiet {installed}\n"), done.stderr


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ("github-actions", "action.yml"),
        ("github-issue-config", ".github/ISSUE_TEMPLATE/config.yml"),
        ("github-issue-forms", ".github/ISSUE_TEMPLATE/bug.yml"),
        ("github-issue-forms", ".github/ISSUE_TEMPLATE/hccl_error.yml"),
    ],
)
def test_files_of_github_are_valid(schema: str, path: str) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", path]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_issue_template_asks_for_the_report() -> None:
    for name in ("bug", "hccl_error"):
        form = yaml.safe_load((ROOT / ".github/ISSUE_TEMPLATE" / f"{name}.yml").read_text(encoding="utf-8"))
        (field,) = (part for part in form["body"] if part["id"] == "report")
        assert "hccl-kit report" in field["attributes"]["description"]
        assert field["validations"]["required"]


def git(cwd: Path, *arguments: str) -> None:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    subprocess.run(["git", *who, *arguments], cwd=cwd, check=True, capture_output=True)


def test_the_hook_checks_the_tables_of_a_commit(tmp_path: Path) -> None:
    """`pre-commit try-repo` with the hook's own file; the language is "system", so that nothing is downloaded."""
    hooks, project = tmp_path / "hooks", tmp_path / "project"
    for folder in (hooks, project):
        folder.mkdir()
        git(folder, "init", "-q")
    hook = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    (hooks / ".pre-commit-hooks.yaml").write_text(hook.replace("language: python", "language: system"))
    git(hooks, "add", ".")
    git(hooks, "commit", "-qm", "hook")
    for name, content in {
        "hccl_8p_01234567_10.0.0.1.json": text(),
        "jobs/my_rank_table.json": BAD,
        "package.json": "{}",
        "rank_table_1.0.schema.json": "{}",
    }.items():
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text(content)
    git(project, "add", ".")
    install(tmp_path / "bin")
    environ = os.environ | {
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
        "PRE_COMMIT_HOME": str(tmp_path / "home"),
    }
    command = [sys.executable, "-m", "pre_commit", "try-repo", str(hooks), "hccl-check", "--color", "never"]
    done = subprocess.run(command, cwd=project, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "jobs/my_rank_table.json:16:32: HK201 error" in done.stdout
    assert "hccl_8p_01234567_10.0.0.1.json: ok" in done.stdout
    assert "package.json" not in done.stdout
    assert "schema.json" not in done.stdout
