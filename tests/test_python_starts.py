"""Every Python that we start has -I: otherwise a module of the current folder, perhaps of another user, would run."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.places import ROOT

# An interpreter and its first option: in shell text, in words of Python, or in YAML. After sys.executable any word.
START = re.compile(
    r"""(?:sys\.executable["']?,\s*["']?(?P<word>[^\[\s]\S*)"""
    r"""|\bpython(?:3(?:\.\d+)?)?(?::-python3)?\}?["']?,?\s+["']?(?P<option>-\S+))"""
)
ISOLATED = re.compile(r"-[A-Za-z]*I")
WHOLE = ("hccl_kit/**/*.py", "hccl_kit/**/*.sh", "tests/launch/golden/**/*.*", "scripts/*.sh", "tools/*.py")
FILES = (*WHOLE, "action.yml", "Dockerfile")
REASONS = {
    r"python -u (tools/)?train(_ddp)?\.py": "the command of the user",
    r"llamafactory\.launcher": "a part of the command of the user",
    r"behind env, numactl": "programs behind which a command is sought, none of which is started",
    r'python", "-u", "tools/train\.py': "the command of the user, in a checkout",
    r"python -m (pytest|hccl_kit)\b": "typed by a developer in the checkout, whose modules it is about",
    r"-m hccl_kit\.(ocr|selftest)|`python -[mc][ `]": "a sentence of a docstring",
    r"apart(: |=).*python -c": "what a page of an error asks the user to type",
    r"python --version": "runs nothing",
}


def starts(path: Path) -> Iterator[str]:
    """The lines that start a Python without -I and without a reason."""
    for line in path.read_text(encoding="utf-8").splitlines():
        for found in START.finditer(line):
            is_isolated = ISOLATED.match(found["word"] or found["option"])
            if not is_isolated and not any(re.search(reason, line) for reason in REASONS):
                yield f"{path.relative_to(ROOT)}: {line.strip()[:120]}"


def test_every_python_that_we_start_ignores_the_current_folder() -> None:
    paths = {path for pattern in FILES for path in ROOT.glob(pattern) if path.is_file()}
    assert len(paths) > 500
    assert [line for path in sorted(paths) for line in starts(path)] == []


@pytest.mark.parametrize(
    "line",
    [
        '    kit=("$python" -m hccl_kit.cli)',
        'kit=("${python:-python3}" -c "$text")',
        "[sys.executable, '-m', 'a']",
        '(sys.executable, "-u", name)',
        "python3 -m venv x",
        '"$RUNNER_TEMP/x/bin/python" -m pip install',
        ".venv/bin/python -m pip",
        '"command": ["python3", "-u", "start.py"]',
    ],
)
def test_the_search_finds_a_start(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.test_python_starts.ROOT", tmp_path)
    (tmp_path / "a").write_text(line)
    assert list(starts(tmp_path / "a")) != []
    (tmp_path / "a").write_text(re.sub(r"-(?=[cmu]\b)", "-I", line))
    assert list(starts(tmp_path / "a")) == []
