"""Queries of driver tools end in time, whatever the program does."""

import gc
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hccl_kit.discovery.driver_tool import HangError, NoAnswerError, query
from tests.interrupts import assert_unseen_interrupt_ends
from tests.waiting import has_ended, wait_until


def refused(*_given: object) -> None:
    raise PermissionError


@pytest.mark.parametrize("killpg", [lambda *_given: None, refused], ids=["stuck in the kernel", "of another user"])
def test_a_process_that_survives_a_kill_is_abandoned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killpg: Callable[..., None]
) -> None:
    monkeypatch.setattr(os, "killpg", killpg)
    monkeypatch.setattr("subprocess.Popen.__del__", lambda _process: None)  # it would warn about the running process
    pid = tmp_path / "pid"
    try:
        with pytest.raises(HangError, match=r"^no answer in 4 s$"):
            query(["sh", "-c", f"echo $$ >{pid}; exec sleep 600"], 4.0)
    finally:
        os.kill(int(pid.read_text()), signal.SIGKILL)
        os.waitpid(int(pid.read_text()), 0)
    gc.collect()  # the traceback referenced it, and __del__ is restored when the test has ended


def test_a_wrapper_that_has_ended_leaves_no_child_behind(tmp_path: Path) -> None:
    with pytest.raises(HangError):
        query(["sh", "-c", f"sleep 600 & echo $! >{tmp_path / 'pid'}"], 4.0)
    pid = int((tmp_path / "pid").read_text())
    assert wait_until(lambda: has_ended(pid))


def test_too_much_output_is_an_error_but_not_a_hang() -> None:
    with pytest.raises(NoAnswerError, match="prints more than 65536 bytes") as caught:
        query([sys.executable, "-c", "print('x' * 1_000_000)"], 10.0)
    assert not isinstance(caught.value, HangError)


@pytest.mark.parametrize("body", ["query(['./sleeper'], 600)", "query_each([0], lambda _: query(['./sleeper'], 600))"])
def test_an_interrupt_that_wakes_no_thread_ends_the_tool(body: str, tmp_path: Path) -> None:
    assert_unseen_interrupt_ends("from hccl_kit.discovery.driver_tool import query, query_each", body, tmp_path)


def test_a_tool_that_closes_its_output_and_runs_on_times_out() -> None:
    with pytest.raises(HangError, match="no answer in 1 s"):
        query(["sh", "-c", "exec >&- 2>&-; exec sleep 600"], 1.0)
