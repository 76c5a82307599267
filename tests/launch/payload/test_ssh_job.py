"""Many servers over a fake ssh: a bounded number of connections at a time, and no thread per server."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from hccl_kit.launch.shell import program_text

FAKE = """#!/bin/sh
case "$*" in *--lifeline*) ;; *) exit 0 ;; esac
grep Threads "/proc/$PPID/status" >>threads
echo + >>count
read -r token
sleep 0.2
echo - >>count
SAY
while read -r line; do case $line in start*) echo "$token done" ;; done) exit 0 ;; esac; done
"""
SERVERS = [f"10.0.0.{number}" for number in range(1, 13)]


def run(folder: Path, say: str) -> "subprocess.CompletedProcess[str]":
    """Starts all servers, two connections at a time, each of which may take half a second."""
    (folder / "ssh").write_text(FAKE.replace("SAY", say))
    (folder / "ssh").chmod(0o755)
    text = program_text("ssh_start")
    for constant, value in (("AT_ONCE", "2"), ("CONNECTING", "0.5")):
        text, found = re.subn(rf"^{constant} = [0-9.]+$", f"{constant} = {value}", text, flags=re.MULTILINE)
        assert found == 1
    without_spares = ("job.sh", "table.json", "0", "", "", str(len(SERVERS)), "0", "0")
    return subprocess.run(
        [sys.executable, "-I", "-c", text, *without_spares, *SERVERS, *SERVERS],
        cwd=folder,
        env={
            "HCCL_KIT_SSH": str(folder / "ssh"),
            "HCCL_KIT_DIAGNOSE": "0",
            "PWD": str(folder),
            "PATH": "/usr/bin:/bin",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=170,
    )


def most(path: Path) -> int:
    running = found = 0
    for line in path.read_text().split():
        running += 1 if line == "+" else -1
        found = max(found, running)
    return found


def test_the_number_of_simultaneous_connections_is_limited(tmp_path: Path) -> None:
    done = run(tmp_path, 'echo "$token here 1-2 4711"')
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "count").read_text().count("+") == len(SERVERS)
    assert most(tmp_path / "count") == 2


@pytest.mark.skipif(sys.version_info < (3, 9), reason="Python 3.8 has a thread for each child")
def test_the_number_of_threads_does_not_grow_with_the_servers(tmp_path: Path) -> None:
    assert run(tmp_path, 'echo "$token here 1-2 4711"').returncode == 0
    threads = [int(line.split()[1]) for line in (tmp_path / "threads").read_text().splitlines()]
    assert len(threads) == len(SERVERS)
    assert max(threads) == 1


def test_silent_servers_do_not_block_connections_to_others(tmp_path: Path) -> None:
    late = 'case $* in *10.0.0.[1-4]" "*) sleep 2 ;; esac; echo "$token here 1-2 4711"'
    done = run(tmp_path, late)
    assert (done.returncode, done.stderr) == (0, "")


def test_after_a_failure_no_further_connection_is_made(tmp_path: Path) -> None:
    done = run(tmp_path, "exit 3")
    assert done.returncode == 3
    assert (tmp_path / "count").read_text().count("+") < len(SERVERS)
