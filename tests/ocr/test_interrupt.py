"""Ctrl-C at a moment that the program itself reports: a message, exit code 130, and no partial files."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.launch.jobs import clean_environ
from tests.ocr.run_tool import CONFIG, OURS
from tests.places import ROOT

PATIENCE = 120

STUB = """
import os, signal, sys, threading, time
from hccl_kit.ocr import interrupt
{before}
interrupt.listen({arguments})
{after}
with interrupt.complete():
    print("ready", flush=True)
    {inside}
print("after", flush=True)
time.sleep(600)
"""


def start(command: list[str], cwd: Path) -> subprocess.Popen[str]:
    environ = {key: value for key, value in clean_environ().items() if key not in OURS}
    return subprocess.Popen(
        command,
        cwd=cwd,
        env={**environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def signalled_at(line: str, command: list[str], cwd: Path, number: signal.Signals = signal.SIGINT) -> tuple[int, str]:
    """Exit code and standard error of the command, which gets the signal after it has printed `line`."""
    process = start(command, cwd)
    assert process.stdout is not None
    try:
        for shown in process.stdout:
            if line in shown:
                process.send_signal(number)
                break
        _, stderr = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    return process.returncode, stderr


def stub(arguments: str = "", *, inside: str = "pass", before: str = "", after: str = "") -> list[str]:
    return [sys.executable, "-c", STUB.format(arguments=arguments, inside=inside, before=before, after=after)]


@pytest.mark.parametrize(
    ("number", "code", "word"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
)
def test_a_signal_ends_the_program_with_a_message(tmp_path: Path, number: signal.Signals, code: int, word: str) -> None:
    assert signalled_at("after", stub("'go on'"), tmp_path, number) == (code, f"{word}; go on\n")
    assert signalled_at("after", stub(), tmp_path, number) == (code, f"{word}\n")
    assert signalled_at("after", stub("'go on', speaks=False"), tmp_path, number) == (code, "")


def test_a_handler_that_is_installed_later_is_not_called(tmp_path: Path) -> None:
    """MindSpore installs one that ends the process with SIGTERM."""
    later = "signal.signal(signal.SIGINT, lambda *_: os._exit(77))"
    assert signalled_at("after", stub(after=later), tmp_path) == (130, "interrupted\n")


def test_a_file_that_is_being_written_is_completed(tmp_path: Path) -> None:
    wait = "os.kill(os.getpid(), signal.SIGINT); time.sleep(0.3); open('whole', 'w').write('x')"
    process = start(stub(inside=wait), tmp_path)
    assert process.communicate(timeout=PATIENCE)[1] == "interrupted\n"
    assert process.returncode == 130
    assert (tmp_path / "whole").read_text() == "x"


def test_a_scratch_folder_is_removed(tmp_path: Path) -> None:
    inside = f"tempfile.tempdir = {str(tmp_path)!r}; held = interrupt.scratch(); print(held.__enter__(), flush=True)"
    process = start(stub(before="import tempfile", inside=inside), tmp_path)
    assert process.stdout is not None
    lines = [process.stdout.readline().strip() for _ in range(3)]
    assert lines[0] == "ready"
    assert Path(lines[1]).parent == tmp_path
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE)
    assert list(tmp_path.iterdir()) == []


def test_a_second_signal_ends_the_program_at_once(tmp_path: Path) -> None:
    wait = "os.kill(os.getpid(), signal.SIGINT); time.sleep(0.3); os.kill(os.getpid(), signal.SIGINT); time.sleep(600)"
    process = start(stub(inside=wait), tmp_path)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 130


def test_an_ignored_signal_stays_ignored(tmp_path: Path) -> None:
    both = "os.kill(os.getpid(), signal.SIGINT); os.kill(os.getpid(), signal.SIGTERM)"
    process = start(stub(before="signal.signal(signal.SIGINT, signal.SIG_IGN)", inside=both), tmp_path)
    assert process.communicate(timeout=PATIENCE)[1] == "terminated\n"
    assert process.returncode == 143


@pytest.mark.train
@pytest.mark.parametrize("line", ["steps in all", "step 3/"], ids=["compiling", "training"])
def test_ctrl_c_ends_a_training_and_leaves_no_dump(line: str, words: Path, tmp_path: Path) -> None:
    places = [f"{section}.dataset.dataset_root={words}" for section in ("train", "eval")]
    options = ["-o", *places, "train.ckpt_save_dir=run", "scheduler.num_epochs=100000", "system.log_interval=1"]
    command = [sys.executable, "-u", str(ROOT / "tools" / "train.py"), "-c", str(CONFIG), *options]
    code, stderr = signalled_at(line, command, tmp_path)
    assert (code, stderr) == (130, "interrupted; continue with -o system.resume=auto\n")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert not [path for path in (tmp_path / "run").iterdir() if path.name.startswith(".")]


@pytest.mark.train
def test_sigusr2_saves_a_checkpoint_after_the_step_and_ends(words: Path, tmp_path: Path) -> None:
    """As sent by a scheduler before the time limit; the run can be resumed from there."""
    places = [f"{section}.dataset.dataset_root={words}" for section in ("train", "eval")]
    options = ["-o", *places, "train.ckpt_save_dir=run", "scheduler.num_epochs=100000", "system.log_interval=1"]
    command = [sys.executable, "-u", str(ROOT / "tools" / "train.py"), "-c", str(CONFIG), *options]
    command += ["train.resume_interval_steps=1000000"]
    code, stderr = signalled_at("step 3/", command, tmp_path, signal.SIGUSR2)
    assert code == 143
    found = re.search(r"saved after step (\d+) by SIGUSR2; continue with -o system.resume=auto\n", stderr)
    assert found, stderr
    step = int(found[1])
    done = start([*command, f"train.max_steps={step + 1}", "system.resume=auto"], tmp_path)
    out, stderr = done.communicate(timeout=PATIENCE)
    assert f"train_resume.ckpt after step {step}\n" in out, out + stderr
    assert done.returncode == 0
