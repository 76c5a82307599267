"""The agent of one of several servers, when its connection breaks."""

import os
import socket
import subprocess
import sys
from pathlib import Path

from hccl_kit.agent.job import Start
from hccl_kit.agent.lines import line
from tests.agent.jobs import python_job
from tests.places import ROOT
from tests.waiting import wait_until


def test_a_connection_that_is_reset_ends_the_ranks_without_a_traceback(tmp_path: Path) -> None:
    """An end that closes with something unread resets a socket, which is what some sshd gives a program."""
    job = python_job(tmp_path, "open('up', 'w'); time.sleep(600)", ranks=1)
    starter, connection = socket.socketpair()
    with connection:
        words = [sys.executable, "-m", "hccl_kit.agent"]
        environ = {**os.environ, "PYTHONPATH": str(ROOT)}
        end = connection.fileno()
        process = subprocess.Popen(words, cwd=tmp_path, stdin=end, stdout=end, stderr=subprocess.PIPE, env=environ)
    with starter:
        starter.sendall(job.assignment.to_json().encode() + b"\n" + line(Start(0, None)))
        assert wait_until((tmp_path / "up").exists)
    assert process.communicate(timeout=60)[1] == b""
    assert process.returncode == 1
    assert wait_until(lambda: not job.processes())
