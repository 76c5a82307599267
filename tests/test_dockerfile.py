"""The Dockerfile, as far as it can be checked without building an image."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.places import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

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


def test_every_base_image_has_an_exact_version() -> None:
    """A moving tag would give the same sources another Python tomorrow."""
    images = re.findall(r"^(?:FROM|ARG BASE=) ?(python\S+)", TEXT, re.MULTILINE)
    assert len(images) == 2
    for image in images:
        assert re.fullmatch(r"python:3\.[0-9]+\.[0-9]+-slim-[a-z]+", image), image


def test_packages_of_debian_have_versions() -> None:
    plain, versions = (text.split() for text in re.findall(r"set -- (.+); ", TEXT))
    assert [version.strip("'").partition("=")[0] for version in versions] == plain
    assert all(re.fullmatch(r"'[a-z0-9+-]+=[0-9][^ ]*\*'", version) for version in versions)


def test_every_python_package_has_a_version_that_the_project_accepts() -> None:
    rows = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    versions = dict(row.split("==") for row in rows)
    assert all(re.fullmatch(r"[a-z0-9-]+", name) for name in versions)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"]
    wanted = [*project["build-system"]["requires"], *project["project"]["dependencies"]]
    wanted += [text for name in ("ocr", "train", "mpi", "export", "weights", "watch") for text in extras[name]]
    for requirement in map(Requirement, wanted):
        if requirement.name != "hccl-kit" and (requirement.marker is None or requirement.marker.evaluate()):
            assert requirement.specifier.contains(versions[canonicalize_name(requirement.name)]), requirement
