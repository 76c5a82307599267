"""docs/architecture.md: its layers match the test, and its examples work in a copy of the package."""

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.places import ROOT
from tests.test_architecture import FLOORS

PAGE = ROOT / "docs" / "architecture.md"
TEXT = PAGE.read_text(encoding="utf-8")
SECTIONS = {section.split("\n")[0]: section for section in TEXT.split("\n## ")[1:]}
BLOCK = re.compile(r"(?:`([\w./]+)`:\n\n)?```(\w+)\n(.*?)```", re.DOTALL)
PROGRAMS = {"hccl-kit": "hccl_kit.cli.kit", "hccl-gen": "hccl_kit.cli.gen", "hccl-check": "hccl_kit.cli.check"}


class Desk:
    """A copy of the checkout to work in, with its programs on PATH."""

    def __init__(self, root: Path) -> None:
        self.copy = root / "copy"
        for name in ("hccl_kit", "schemas", "configs"):
            shutil.copytree(ROOT / name, self.copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        (root / "bin").mkdir()
        for name, module in PROGRAMS.items():
            program = root / "bin" / name
            program.write_text(f'#!/bin/sh\nexec {sys.executable} -m {module} "$@"\n')
            program.chmod(0o755)
        path = f"{root / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        self.environ = {**os.environ, "PATH": path, "PYTHONPATH": str(self.copy), "NO_COLOR": "1"}

    def run(self, *command: str) -> str:
        done = subprocess.run(command, cwd=self.copy, env=self.environ, capture_output=True, text=True, check=False)
        assert "Traceback" not in done.stderr, done.stderr
        return done.stdout + done.stderr

    def edit(self, path: str, diff: str) -> None:
        """Apply a diff of lines or parts of a line; the changed text must occur once in the file."""
        lines = diff.splitlines()
        old = "\n".join(line[1:] for line in lines if line[0] != "+")
        new = "\n".join(line[1:] for line in lines if line[0] != "-")
        text = (self.copy / path).read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{path} holds {text.count(old)} times:\n{old}"
        (self.copy / path).write_text(text.replace(old, new), encoding="utf-8")


def test_the_documented_layers_match_the_test() -> None:
    shown: dict[str, int] = {}
    for line in SECTIONS["Folders and floors"].split("```")[1].splitlines()[1:]:
        floor, names = line[0], re.split(r"\s{3,}", line[1:].strip())[0]
        shown |= {name: int(floor) for name in [*names.split(), *re.findall(r"\| (\w+)", line)]}
    assert shown == {name: floor for name, floor in FLOORS[""].items() if not name.startswith("_")}


def test_the_documented_folders_exist() -> None:
    tables = SECTIONS['The path of "[4,8)"'] + SECTIONS["From a table to its report"]
    named = re.findall(r"^\| \d+ \| `([\w/]+)`", tables, re.MULTILINE)
    assert len(named) == 8 + 6
    assert [name for name in named if not list((ROOT / "hccl_kit").glob(f"{name}*"))] == []


def worked(section: str, desk: Desk) -> str:
    """The section with the output of its examples: files are written, rows added, commands and code run."""
    printed: str | None = None

    def output(block: re.Match[str]) -> str:
        nonlocal printed
        path, kind, content = block.groups()
        if kind == "diff":
            desk.edit(path, content)
        elif path:
            assert not (desk.copy / path).exists()
            (desk.copy / path).write_text(content, encoding="utf-8")
        elif kind == "python":
            printed = desk.run(sys.executable, "-c", content)
        elif kind == "console":
            commands = re.findall(r"^\$ (.*)\n", content, re.MULTILINE)
            shown = "".join(f"$ {each}\n{desk.run('bash', '-c', each)}" for each in commands)
            return f"```console\n{shown}```"
        elif printed is not None:
            return f"```text\n{printed}```"
        return block[0]

    return BLOCK.sub(output, section)


@pytest.mark.parametrize("title", [title for title in SECTIONS if BLOCK.search(SECTIONS[title])])
def test_the_examples_work(title: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    section = SECTIONS[title]
    if "hccl_kit.ocr" in section and not find_spec("mindspore"):
        pytest.skip("needs MindSpore: install the extra train")
    actual = worked(section, Desk(tmp_path))
    if request.config.getoption("--update-golden"):
        PAGE.write_text(PAGE.read_text(encoding="utf-8").replace(section, actual), encoding="utf-8")
    assert actual == section or request.config.getoption("--update-golden")
