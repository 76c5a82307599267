"""On SIGTERM the function is called first, also while native code runs; existing handlers are kept."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

START = (
    "import ctypes, os, signal, subprocess, sys, threading, time\n"
    "from hccl_kit.runtime.termination import before_termination\n"
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
