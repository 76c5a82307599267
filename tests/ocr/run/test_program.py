"""Errors of the training programs: the message, the record for the launcher, and the end without a hang."""

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hccl_kit.base.extra import install_extra
from hccl_kit.ocr.run import program
from hccl_kit.runtime.worker_env import LOG_DIR
from tests.launch.jobs import clean_environ
from tests.ocr.run_tool import CONFIG
from tests.places import ROOT

pytestmark = pytest.mark.train

PROGRAM = """
import sys, threading, time
from hccl_kit.base.errors import KitError
from hccl_kit.ocr.run import program

def body(config, world, notes):
    threading.Thread(target=time.sleep, args=(600,)).start()  # such as one of MindSpore's, which waits for a peer
    print("body", flush=True)
    raise {error}

args = program.parser(None).parse(None)
program.run(program.Options(args.config, args.opt, args.launcher), body)
"""


def run(tmp_path: Path, error: str, *overrides: str) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    """Runs a program that raises `error`; returns the process and its record."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(error=error), "-c", str(CONFIG), *overrides],
        env={**clean_environ(), "PYTHONPATH": str(ROOT), LOG_DIR: str(tmp_path), "GLOG_v": "3"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    files = list(tmp_path.glob("error_*"))
    assert [path.name for path in files] == ["error_0.json"], done.stderr
    row: dict[str, Any] = json.loads(files[0].read_text())
    return done, row


def test_an_unexpected_error_is_shown_and_recorded_and_ends_the_program(tmp_path: Path) -> None:
    done, row = run(tmp_path, "ValueError('odd')")
    assert done.returncode == 1
    assert done.stdout == "body\n"
    assert (row["exception"], row["message"], row["rank"], row["device"]) == ("ValueError", "odd", 0, 0)
    assert row["traceback"].endswith("ValueError: odd\n")
    assert row["traceback"] in done.stderr


def test_a_kit_error_is_recorded_without_a_traceback(tmp_path: Path) -> None:
    done, row = run(tmp_path, "KitError('no cards', hint='buy some')")
    assert done.returncode == 2
    assert done.stderr == "error: no cards\n  fix: buy some\n"
    assert (row["exception"], row["message"]) == ("KitError", "no cards")
    assert row["traceback"] + "\n" == done.stderr


WITHOUT_MINDSPORE = """
import sys
from hccl_kit.cli.kit import main

class Hiding:
    def find_spec(self, name, *rest):
        if name == "mindspore":
            raise ModuleNotFoundError("No module named 'mindspore'", name=name)

sys.meta_path.insert(0, Hiding())
sys.exit(main(sys.argv[1:]))
"""


def test_without_mindspore_the_extra_to_install_is_named(words: Path) -> None:
    places = [f"{section}.dataset.dataset_root={words}" for section in ("train", "eval")]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_MINDSPORE, "train", "-c", str(CONFIG), "-o", *places],
        env={**clean_environ(), "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith("error: mindspore cannot be imported: No module named 'mindspore'\n")
    assert f"fix: {install_extra('train')}" in done.stderr


@pytest.mark.parametrize(
    ("name", "found", "extra"), [("mindspore", None, "train"), ("cv2", None, "train"), ("cv2", 1, "ocr")]
)
def test_the_suggested_extra_keeps_an_installed_mindspore(
    name: str, found: object, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "find_spec", lambda _: found)
    assert install_extra(extra) in str(program.missing(ModuleNotFoundError("no", name=name)).hint)


def test_the_scheduler_of_msrun_leaves_the_folder_of_the_run_to_rank_0(words: Path, tmp_path: Path) -> None:
    """It runs the same program: it took the claim, so rank 0 or the scheduler itself ended, and the others waited."""
    (tmp_path / "best.ckpt").write_bytes(b"earlier")
    places = [f"{section}.dataset.dataset_root={words}" for section in ("train", "eval")]
    # The last one ends the program where it would join the group.
    overrides = [*places, f"train.ckpt_save_dir={tmp_path}", "system.distribute=False"]
    taken = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(taken, fcntl.LOCK_EX)
        done = subprocess.run(
            [sys.executable, "-m", "hccl_kit", "train", "-c", "rec/crnn/crnn_small.yaml", "-o", *overrides],
            env={**clean_environ(), "PYTHONPATH": str(ROOT), "MS_ROLE": "MS_SCHED", "MS_WORKER_NUM": "2"},
            capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
    finally:
        os.close(taken)
    assert done.returncode == 2
    assert done.stderr.startswith("error: 2 ranks were started (the environment holds MS_ROLE=MS_SCHED)")
    assert [path.name for path in tmp_path.iterdir()] == ["best.ckpt"]


def test_an_error_before_the_imports_is_recorded(tmp_path: Path) -> None:
    environ = {**clean_environ(), "PYTHONPATH": str(ROOT), LOG_DIR: str(tmp_path), "RANK_ID": "3", "RANK": "3"}
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "train.py", "-c", tmp_path / "no.yaml"],
        env=environ, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 2
    row = json.loads((tmp_path / "error_3.json").read_text())
    assert f"cannot read {tmp_path / 'no.yaml'}" in row["message"]


@pytest.mark.parametrize("words", ["read none.png", "predict -c {} --images none.png", "eval -c {}"])
def test_a_program_whose_output_is_closed_does_not_start(words: str) -> None:
    command = words.format(CONFIG)
    line = ["sh", "-c", f'exec "$0" -m hccl_kit {command} >&-', sys.executable]
    done = subprocess.run(line, capture_output=True, text=True, check=False, cwd=ROOT, env=clean_environ())
    assert (done.returncode, done.stderr) == (2, "error: standard output is closed\n")


def test_a_pair_without_its_option_names_the_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        program.parser(None, "train").parse(["-c", "x.yaml", "train.epochs=3"])
    assert capsys.readouterr().err.endswith(
        "unrecognized arguments: train.epochs=3; KEY=VALUE follows -o, as in: -o train.epochs=3\n"
    )
