"""Ctrl-C ends work in threads, whatever line the main thread is at, and even if no event wakes it up."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.base.interruptible import ENDING, interruptible, is_interrupted
from tests.interrupts import SLEEPER, assert_unseen_interrupt_ends
from tests.launch.jobs import clean_environ
from tests.places import ROOT
from tests.waiting import PATIENCE, wait_until

IMPORTS = "import subprocess, time\nfrom hccl_kit.base.interruptible import interruptible, is_interrupted"
WORK = """
def work():
    one = subprocess.Popen("./sleeper")
    while not is_interrupted():
        time.sleep(0.05)
    one.kill()
    one.wait()
"""


@pytest.fixture(autouse=True)
def handler() -> Iterator[None]:
    """Installs Python's default SIGINT handler before and after each test, even if pytest runs in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    assert not is_interrupted()
    signal.signal(signal.SIGINT, before)


def interrupt() -> None:
    """Sends SIGINT until the main thread has handled it."""
    os.kill(os.getpid(), signal.SIGINT)
    assert wait_until(is_interrupted)


def test_returns_the_result_or_raises_the_error_of_the_work() -> None:
    assert interruptible(threading.current_thread) is not threading.main_thread()
    with pytest.raises(KitError, match="broken"):
        interruptible(lambda: fail("broken"))


def fail(why: str) -> None:
    raise KitError(why)


def test_the_work_ends_before_the_interrupt_is_raised() -> None:
    ended = []

    def work() -> None:
        interrupt()
        time.sleep(0.1)
        ended.append(True)

    with pytest.raises(KeyboardInterrupt):
        interruptible(work)
    assert ended == [True]


def test_an_error_of_interrupted_work_is_not_raised() -> None:
    def work() -> None:
        interrupt()
        fail("ended")

    with pytest.raises(KeyboardInterrupt):
        interruptible(work)


def test_a_handler_that_does_not_raise_is_called_and_the_work_is_interrupted() -> None:
    called = []
    signal.signal(signal.SIGINT, lambda number, _: called.append(number))
    try:
        with pytest.raises(KeyboardInterrupt):
            interruptible(interrupt)
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    assert called == [signal.SIGINT]


def test_a_second_interrupt_does_not_wait_for_the_work() -> None:
    go_on, ended = threading.Event(), threading.Event()

    def work() -> None:
        interrupt()
        os.kill(os.getpid(), signal.SIGINT)
        go_on.wait()
        ended.set()

    with pytest.raises(KeyboardInterrupt):
        interruptible(work)
    assert (is_interrupted(), ended.is_set()) == (True, False)
    go_on.set()
    assert ended.wait(60)
    assert interruptible(is_interrupted) is False


def test_nested_work_and_work_with_ignored_signals_start_no_thread() -> None:
    outer, inner = interruptible(lambda: (threading.get_ident(), interruptible(threading.get_ident)))
    assert outer == inner != threading.get_ident()
    before = {number: signal.signal(number, signal.SIG_IGN) for number in ENDING}
    try:
        assert interruptible(threading.get_ident) == threading.get_ident()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_a_program_that_ignores_ctrl_c_continues() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        interruptible(lambda: os.kill(os.getpid(), signal.SIGINT))
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGQUIT"])
def test_a_signal_that_ends_the_program_ends_its_child_processes_first(name: str, tmp_path: Path) -> None:
    (tmp_path / "sleeper").write_text(SLEEPER)
    (tmp_path / "sleeper").chmod(0o755)
    pid = tmp_path / "pid"
    program = f"{IMPORTS}\n{WORK}\ninterruptible(work)"
    environ = clean_environ({"PYTHONPATH": str(ROOT)})
    with subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path, env=environ) as process:
        assert wait_until(pid.exists)
        process.send_signal(signal.Signals[name])
        assert process.wait(PATIENCE) == -signal.Signals[name]
    assert not Path("/proc", pid.read_text().strip(), "exe").exists()


def test_an_interrupt_at_any_line_of_the_main_thread_ends_the_work() -> None:
    """Interrupts at the first line, then at the second, and so on, until the work ends before the line is reached."""
    place = 0
    before = threading.active_count()
    while interrupted_at(place := place + 1):
        assert wait_until(lambda: threading.active_count() == before), (
            f"the work runs after an interrupt at line {place}"
        )
    assert place > 20


def interrupted_at(line: int) -> bool:
    """Whether the interrupt was raised at this line, counted among those that `interruptible` executes here.

    Garbage collection is off: Python ignores an interrupt in its callbacks, which have lines too; that ends a program
    (see `ctrl_c`) and would end the test process.
    """
    left = line

    def trace(_frame: FrameType, _event: str, _value: Any) -> Any:
        nonlocal left
        left -= 1
        if left == 0:
            signal.raise_signal(signal.SIGINT)
        return trace

    before = sys.gettrace()
    gc.disable()
    sys.settrace(trace)
    try:
        interruptible(lambda: wait_until(is_interrupted, seconds=0.05))
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
        gc.enable()
    return False


def test_an_interrupt_that_does_not_wake_the_main_thread_ends_the_work(tmp_path: Path) -> None:
    assert_unseen_interrupt_ends(IMPORTS + WORK, "interruptible(work)", tmp_path)
