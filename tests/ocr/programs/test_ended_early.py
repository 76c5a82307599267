"""Trainings that end early: their exit code, and how a run with system.resume=auto continues.

The process ends at a point in the program, not after a time.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.launch.jobs import clean_environ
from tests.ocr.run_tool import CONFIG, OURS, PATIENCE, summary, train
from tests.places import ROOT

pytestmark = pytest.mark.train

STUB = """
import os, resource, runpy, shutil, signal, sys
sys.path.insert(0, {root!r})
sys.argv = sys.argv[1:]
os.environ["GLOG_v"] = "3"  # as the program has it; MindSpore looks at both when it is imported
from hccl_kit.ocr.train import loop
{patch}
runpy.run_path(sys.argv[0], run_name="__main__")
"""
KILL_AT_SUMMARY = "loop.summary.write = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)"
KILL_IN_EVALUATION = """
def killed(*_):
    os.kill(os.getpid(), signal.SIGKILL)
loop.evaluation.evaluate = killed
"""
AT_STEP_8 = """
check = loop.checks.assert_finite
def checked(job, result, batch, step):
    check(job, result, batch, step)
    if step == 7:  # counted from 0
        {what}
loop.checks.assert_finite = checked
"""
FULL_DISK = AT_STEP_8.format(what="resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 18, 1 << 18))")
NO_DATA = AT_STEP_8.format(what="shutil.rmtree({words!r})")


def patched(patch: str, folder: Path, words: Path, *overrides: str) -> subprocess.CompletedProcess[str]:
    """tools/train.py with a training that is modified by `patch`."""
    places = (f"{section}.dataset.dataset_root={words}" for section in ("train", "eval"))
    options = ["-c", CONFIG, "-o", *places, f"train.ckpt_save_dir={folder}", "system.log_interval=1", *overrides]
    environ = {key: value for key, value in clean_environ().items() if key not in OURS}
    program = STUB.format(root=str(ROOT), patch=patch)
    return subprocess.run(
        [sys.executable, "-c", program, ROOT / "tools" / "train.py", *map(str, options)],
        env={**environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


def evaluations(folder: Path) -> list[int]:
    rows = map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
    return [row["step"] for row in rows if "loss" not in row]


def hidden(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


@pytest.mark.long
def test_a_run_killed_before_its_summary_is_completed(run: Path, words: Path, tmp_path: Path) -> None:
    done = patched(KILL_AT_SUMMARY, tmp_path, words, "train.max_steps=12")
    assert done.returncode == -9, done.stderr
    assert not (tmp_path / "summary.json").exists()
    again = train(tmp_path, words, "train.max_steps=12", "system.resume=auto")
    assert again.returncode == 0, again.stderr
    assert "warning: no step is left: 12 are done" in again.stdout
    assert summary(tmp_path)["parameters_sha256"] == summary(run)["parameters_sha256"]
    assert summary(tmp_path)["best"] == summary(run)["best"]
    assert summary(tmp_path)["steps"] == 12


@pytest.mark.long
def test_an_interrupted_evaluation_is_repeated(words: Path, tmp_path: Path) -> None:
    """Otherwise the best weights of the resumed run could differ from those of the undisturbed one."""
    overrides = ("train.max_steps=12", "system.val_interval=1")
    done = patched(KILL_IN_EVALUATION, tmp_path, words, *overrides)
    assert done.returncode == -9, done.stderr
    again = train(tmp_path, words, *overrides, "system.resume=auto")
    assert again.returncode == 0, again.stderr
    assert evaluations(tmp_path) == [6, 12]


@pytest.mark.long
def test_a_full_disk_during_training_is_not_a_failed_start(words: Path, tmp_path: Path) -> None:
    """The file size is limited at step 8; the checkpoint after step 9 is larger."""
    done = patched(FULL_DISK, tmp_path, words, "train.max_steps=12", "train.resume_interval_steps=3")
    assert done.returncode == 1, done.stderr
    assert f"error: cannot write the checkpoint {tmp_path / 'train_resume.ckpt'}: " in done.stderr
    assert "Traceback" not in done.stderr
    assert hidden(tmp_path) == []
    again = train(tmp_path, words, "train.max_steps=12", "system.resume=auto")
    assert again.returncode == 0, again.stderr
    assert "after step 6" in again.stdout


def test_a_data_set_that_vanishes_in_training_is_not_a_failed_start(words: Path, tmp_path: Path) -> None:
    gone = tmp_path / "words"
    shutil.copytree(words, gone)
    done = patched(NO_DATA.format(words=str(gone)), tmp_path / "run", gone, "train.max_steps=40")
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
    assert train(tmp_path / "run", gone, "system.resume=auto").returncode == 2  # cannot start
