"""The record of a failed rank for the launcher: one complete file or none, and never another error."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.runtime.failure import MAX_MESSAGE, MAX_TRACEBACK, record, recorded, shortened
from hccl_kit.runtime.worker_env import LOG_DIR, WorkerEnv
from tests.waiting import PATIENCE

ENV = WorkerEnv(rank=5, size=8, local_rank=1, local_size=4, device=7)


def environ(folder: Path) -> dict[str, str]:
    return {LOG_DIR: str(folder), "RANK_ID": "3", "RANK": "3", "DEVICE_ID": "6"}


def written(folder: Path, rank: int = 3) -> dict[str, Any]:
    assert [path.name for path in folder.glob("error_*")] == [f"error_{rank}.json"]
    row: dict[str, Any] = json.loads((folder / f"error_{rank}.json").read_text(encoding="ascii"))
    return row


def raised(error: Exception) -> Exception:
    """The same error, with a traceback."""
    try:
        raise error
    except type(error) as caught:
        return caught


def test_the_file_has_rank_error_and_time(tmp_path: Path) -> None:
    before = time.time()
    record(raised(ValueError("the loss is a pear")), environ=environ(tmp_path))
    row = written(tmp_path)
    assert before <= row.pop("time") <= time.time()
    text = row.pop("traceback")
    assert text.startswith("Traceback (most recent call last):\n")
    assert text.endswith("ValueError: the loss is a pear\n")
    assert row == {
        "version": 1,
        "rank": 3,
        "host": socket.gethostname(),
        "device": 6,
        "pid": os.getpid(),
        "exception": "ValueError",
        "message": "the loss is a pear",
    }


def test_the_rank_detected_by_the_launcher_is_used(tmp_path: Path) -> None:
    record(ValueError(), env=ENV, environ={LOG_DIR: str(tmp_path)})
    row = written(tmp_path, 5)
    assert (row["rank"], row["device"]) == (5, 7)


def test_a_kit_error_is_recorded_by_its_message(tmp_path: Path) -> None:
    record(raised(KitError("no port", hint="take another")), environ=environ(tmp_path))
    row = written(tmp_path)
    assert (row["exception"], row["message"]) == ("KitError", "no port")
    assert row["traceback"] == "error: no port\n  fix: take another"


def test_a_program_of_any_kind_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environ(tmp_path).items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ZeroDivisionError), recorded():
        _ = 1 / 0
    assert written(tmp_path)["exception"] == "ZeroDivisionError"


@pytest.mark.parametrize("end", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
def test_an_intended_exit_is_not_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: BaseException) -> None:
    for name, value in environ(tmp_path).items():
        monkeypatch.setenv(name, value)
    with pytest.raises(type(end)), recorded():
        raise end
    assert list(tmp_path.glob("error_*")) == []


class _SilentError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def _deep(depth: int) -> None:
    if depth:
        _deep(depth - 1)
    raise ValueError("\N{GRINNING FACE}" * 10**6)


def test_an_error_of_any_size_makes_a_small_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="\N{GRINNING FACE}") as caught:
        _deep(100)
    record(caught.value, environ=environ(tmp_path))
    row = written(tmp_path)
    assert (tmp_path / "error_3.json").stat().st_size < 12 * (MAX_MESSAGE + MAX_TRACEBACK) + 2000
    assert "characters omitted" in row["message"]
    assert row["traceback"].startswith("Traceback (most recent call last):\n")


@pytest.mark.parametrize("size", [0, 1, 9, 10, 11, 1000])
def test_a_short_text_is_unchanged_and_a_long_one_keeps_both_ends(size: int) -> None:
    text = "".join(chr(ord("a") + n % 26) for n in range(size))
    found = shortened(text, 10)
    if size <= 10:
        assert found == text
    else:
        assert found == f"{text[:5]}\n... {size - 10} characters omitted ...\n{text[-5:]}"


@pytest.mark.parametrize(
    "error",
    [
        _SilentError(),
        ValueError("\x1b[2J\r\x07"),
        ValueError("\ud800"),
        ValueError(b"\xff"),
        RecursionError(),
        MemoryError(),
    ],
    ids=["silent", "escapes", "surrogate", "bytes", "recursion", "memory"],
)
def test_any_exception_can_be_recorded(tmp_path: Path, error: Exception) -> None:
    record(raised(error), environ=environ(tmp_path))
    row = written(tmp_path)
    assert row["exception"] == type(error).__name__
    for text in (row["message"], row["traceback"]):
        assert all(line.isprintable() for line in text.split("\n"))


@pytest.mark.parametrize(
    "change",
    [{LOG_DIR: ""}, {LOG_DIR: "/no/such/folder"}, {LOG_DIR: "/dev/null"}, {"RANK": "4"}, {"RANK": "", "RANK_ID": ""}],
    ids=str,
)
def test_a_failed_write_raises_nothing(tmp_path: Path, change: dict[str, str]) -> None:
    record(ValueError(), environ={**environ(tmp_path), **change})
    assert list(tmp_path.iterdir()) == []


HANG = """
import threading, time
from hccl_kit.runtime.failure import watch_stacks
watch_stacks()
def helper(): time.sleep(60)
threading.Thread(target=helper, daemon=True).start()
def stuck():
    print("ready", flush=True)
    time.sleep(60)
stuck()
"""


@pytest.mark.parametrize("watched", [True, False])
def test_sigusr1_shows_every_thread_and_the_program_continues(tmp_path: Path, watched: bool) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", HANG],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **({LOG_DIR: str(tmp_path)} if watched else {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGUSR1)
        if not watched:
            assert process.wait(timeout=PATIENCE) == -signal.SIGUSR1
            return
        assert process.stderr is not None
        shown = ""
        while "in stuck" not in shown:  # the main thread comes last
            line = process.stderr.readline()
            assert line, shown
            shown += line
        assert "in helper" in shown
        assert process.poll() is None
    finally:
        process.kill()
        process.communicate(timeout=PATIENCE)


START = (
    "import ctypes, os, signal, subprocess, sys, threading, time\n"
    "from hccl_kit.runtime.failure import before_termination\n"
    "act = lambda: os.write(1, b'acted\\n')\n"
)
IN_NATIVE_CODE = (  # a mutex that this thread has already locked: no signal interrupts that
    "lib, lock = ctypes.CDLL(None), ctypes.create_string_buffer(128)\n"
    "lib.pthread_mutex_init(lock, None)\n"
    "lib.pthread_mutex_lock(lock)\n"
    "with before_termination(act):\n"
    "    print('ready', flush=True)\n"
    "    lib.pthread_mutex_lock(lock)\n"
)
IN_PYTHON = "with before_termination(act):\n    print('ready', flush=True)\n    while True: pass\n"
OWN_HANDLER = (
    "signal.signal(signal.SIGTERM, lambda *_: (os.write(1, b'own\\n'), os._exit(7)))\n"
    "with before_termination(act):\n    print('ready', flush=True)\n    time.sleep(600)\n"
)
LATER_HANDLER = (
    "with before_termination(act):\n"
    "    signal.signal(signal.SIGTERM, lambda *_: (os.write(1, b'own\\n'), time.sleep(1), os._exit(7)))\n"
    "    print('ready', flush=True)\n    time.sleep(600)\n"
)
AFTERWARDS = "with before_termination(act):\n    pass\nprint('ready', flush=True)\ntime.sleep(600)\n"
IGNORED = (
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "with before_termination(act):\n    print('ready', flush=True)\n    sys.stdin.readline()\n"
)


def start(program: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", START + program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.parametrize(
    ("program", "said", "code"),
    [
        (IN_NATIVE_CODE, "acted\n", 143),
        (IN_PYTHON, "acted\n", 143),
        (OWN_HANDLER, "own\n", 7),
        (LATER_HANDLER, "own\n", 7),
        (AFTERWARDS, "", -signal.SIGTERM),
    ],
    ids=["native code", "Python", "own handler", "later handler", "after the block"],
)
def test_sigterm_calls_the_function_unless_there_is_a_handler(program: str, said: str, code: int) -> None:
    process = start(program)
    process.terminate()
    assert (process.communicate(timeout=300)[0], process.returncode) == (said, code)


def test_a_program_that_ignores_sigterm_continues() -> None:
    process = start(IGNORED)
    process.terminate()
    assert process.communicate("\n", timeout=300)[0] == ""
    assert process.returncode == 0


def test_a_signal_to_a_forked_child_does_not_affect_its_parent() -> None:
    process = start(
        "with before_termination(act):\n"
        "    child = os.fork()\n"
        "    if child == 0:\n        print('ready', flush=True)\n        time.sleep(600)\n"
        "    code = os.waitpid(child, 0)[1]\n"
        "    time.sleep(1)\n    print(code, flush=True)\n"
    )
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii").split()
    os.kill(int(children[0]), signal.SIGTERM)
    assert process.communicate(timeout=300)[0] == f"{int(signal.SIGTERM)}\n"
    assert process.returncode == 0


def test_an_existing_wakeup_descriptor_is_kept() -> None:
    process = start(
        "read, write = os.pipe()\nos.set_blocking(write, False)\nsignal.set_wakeup_fd(write)\n"
        "with before_termination(act):\n    print('ready', flush=True)\n    time.sleep(600)\n"
    )
    process.terminate()
    assert process.communicate(timeout=300)[0] == ""
    assert process.returncode == -signal.SIGTERM
