"""The programs of tools/, run as by a user."""

import json
import os
import subprocess
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from tests.places import ROOT

HEAVY = ("mindspore", "numpy", "cv2")
"""Packages that an invalid command does not import."""
TOGETHER = """
import contextlib, importlib, io, json, sys
from hccl_kit.base import progress
from hccl_kit.ocr.run import program

def leave(code, world):
    raise SystemExit(code)

program.leave = leave
progress.INTERVAL = {interval}
done = []
for verb, *options in json.load(sys.stdin):
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        try:
            code = importlib.import_module(f"hccl_kit.ocr.programs.{{verb}}").main(options)
        except SystemExit as end:
            code = end.code
    done.append((code or 0, out.getvalue(), errors.getvalue()))
print()
json.dump([done, list(sys.modules)], sys.stdout)
"""
CONFIG = ROOT / "configs" / "rec" / "crnn" / "crnn_small.yaml"
OURS = ("ONEDNN_MAX_CPU_ISA", "GLOG_v")
"""Set by conftest.py for the tests of this process; a user has not set them."""
PATIENCE = 900.0
"""Seconds; a training of MobileNetV3 took more than 300 on a busy machine."""


def tool(name: str, *args: object, python: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """`python tools/<name>.py args`, `python` being options of the interpreter."""
    environ = {key: value for key, value in os.environ.items() if key not in OURS}
    environ["PYTHONPATH"] = str(ROOT)
    command = [sys.executable, *python, str(ROOT / "tools" / f"{name}.py"), *map(str, args)]
    return subprocess.run(command, check=False, capture_output=True, text=True, env=environ, timeout=PATIENCE)


def train(folder: Path, words: Path, *overrides: str, config: Path = CONFIG) -> subprocess.CompletedProcess[str]:
    """Run tools/train.py on the rendered words, with output in `folder`."""
    places = (f"{section}.dataset.dataset_root={words}" for section in ("train", "eval"))
    return tool("train", "-c", config, "-o", *places, f"train.ckpt_save_dir={folder}", *overrides)


def together(*commands: Sequence[object], interval: float = 30.0) -> list[subprocess.CompletedProcess[str]]:
    """The results of commands, verbs with their options: one process runs them all, since its imports take longest.

    `interval` is that of the lines of progress, in seconds.
    """
    return _run(commands, interval)[0]


def refusals(*commands: Sequence[object], heavy: Collection[str] = HEAVY) -> list[str]:
    """The errors of invalid commands, which run together and import no `heavy` package."""
    found, modules = _run(commands, interval=30.0)
    assert set(heavy).isdisjoint(modules)
    for done in found:
        errors = done.stderr
        assert (done.returncode, errors.count("error: "), "Traceback" in errors) == (2, 1, False), (done.args, errors)
    return [done.stderr for done in found]


def _run(
    commands: Sequence[Sequence[object]], interval: float
) -> tuple[list[subprocess.CompletedProcess[str]], list[str]]:
    environ = {key: value for key, value in os.environ.items() if key not in OURS}
    given = [list(map(str, command)) for command in commands]
    done = subprocess.run(
        [sys.executable, "-c", TOGETHER.format(interval=interval)],
        input=json.dumps(given),
        env={**environ, "PYTHONPATH": str(ROOT)},
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    rows, modules = json.loads(done.stdout.splitlines()[-1])
    return [subprocess.CompletedProcess(words, *row) for words, row in zip(given, rows, strict=True)], modules


def summary(folder: Path) -> dict[str, Any]:
    """The content of summary.json of a run."""
    values: dict[str, Any] = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    return values


def assert_refused(done: subprocess.CompletedProcess[str], code: int, *parts: str) -> None:
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("error: ") == 1
    for part in parts:
        assert part in done.stderr
