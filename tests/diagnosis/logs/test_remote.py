"""Logs of other hosts, with a fake ssh: it runs the command locally, or behaves like a broken host."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.diagnosis.facts import Process
from hccl_kit.diagnosis.logs.reading import read
from hccl_kit.diagnosis.logs.remote import Host, Remote
from tests.diagnosis.logs.lines import plog
from tests.interrupts import assert_unseen_interrupt_ends
from tests.waiting import PATIENCE

NAME = "plog-77_20250615150640500.log"
# ruff: noqa: E501 - a line of a script is not wrapped
SSH = """#!/bin/bash
shift
case $1 in
    10.0.0.1 | 10.0.0.2) cd "$0.d/$1" && eval "$2" ;;
    10.0.0.3) echo "ssh: connect to host 10.0.0.3 port 22: Connection refused" >&2; exit 255 ;;
    10.0.0.4) head -c 100000 /dev/zero | tr '\\0' x ;;
    10.0.0.5) exec sleep 600 ;;
    10.0.0.7) cd "$0.d/10.0.0.1" && head -c 20000000 /dev/zero | tr '\\0' x >&2; tar -cf - . ; yes "x: denied" | head -n 500000 >&2 ;;
    10.0.0.8) sleep 120 >/dev/null & echo "no such folder" >&2; exit 1 ;;
    10.0.0.6) cd "$0.d/10.0.0.1" && tar --sort=name -cf - . | head -c 4200 ;;
esac
"""


@pytest.fixture
def ssh(tmp_path: Path) -> Path:
    path = tmp_path / "ssh"
    path.write_text(SSH)
    path.chmod(0o755)
    for host in ("10.0.0.1", "10.0.0.2"):
        folder = tmp_path / "ssh.d" / host / "my logs/debug/plog"
        folder.mkdir(parents=True)
        (folder / NAME).write_text(plog("wait socket establish timeout, role[1] rank[9] timeout[120 s]") * 9)
        (folder / "link.log").symlink_to("/etc/passwd")
    return path


def hosts(*numbers: int) -> list[Host]:
    return [Host(f"n{number}", f"10.0.0.{number}") for number in numbers]


def test_logs_of_hosts_are_read_as_they_arrive(ssh: Path) -> None:
    evidence = read([], remote=Remote(hosts(1, 2), [str(ssh)], "my logs"))
    assert {event.process for event in evidence.events} == {Process("n1", 77), Process("n2", 77)}
    assert len(evidence.events) == 18
    assert [file.file for file in evidence.files] == [f"n{number}:./debug/plog/{NAME}" for number in (1, 2)]


def test_a_host_that_fails_is_a_note(ssh: Path) -> None:
    started = time.monotonic()
    evidence = read(
        [], remote=Remote([*hosts(3, 4, 5, 6, 1), Host("bad", "-oProxyCommand=x")], [str(ssh)], "my logs", 3.0)
    )
    assert time.monotonic() - started < PATIENCE
    assert {event.process.worker for event in evidence.events} == {"n1", "my logs"}  # n6 sends a nested folder
    assert [note for note in evidence.notes if note.startswith("the logs of")] == [
        "the logs of n3 cannot be read: ssh: connect to host 10.0.0.3 port 22: Connection refused",
        "the logs of n4 cannot be read: it is not a tar archive from there on",
        "the logs of n5 cannot be read: no answer in time",
        "the logs of n6 were not all read: it ends in the middle",
        "the logs of bad cannot be read: not a valid address or host name for ssh",
    ]


def test_errors_of_a_host_take_neither_disk_nor_memory(ssh: Path) -> None:
    """The largest file that it may write has 64 KiB, and its memory is limited."""
    program = (
        "import sys\n"
        "from hccl_kit.diagnosis.logs.reading import read\n"
        "from hccl_kit.diagnosis.logs.remote import Host, Remote\n"
        "found = read([], remote=Remote([Host('n7', '10.0.0.7')], sys.argv[1:], 'my logs', 60.0))\n"
        "print(len(found.events), *found.notes, sep='\\n')\n"
    )
    limited = 'ulimit -f 64 -v 400000; exec "$@"'
    command = ["bash", "-c", limited, "-", sys.executable, "-c", program, str(ssh)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout == "9\nn7 printed 25000000 bytes of errors: only the end was read\n"


def test_a_child_that_keeps_stderr_open_does_not_delay_the_answer(ssh: Path) -> None:
    """As the master of a shared connection of ssh does."""
    started = time.monotonic()
    with pytest.raises(KitError, match="the logs of n8 cannot be read: no such folder"):
        read([], remote=Remote(hosts(8), [str(ssh)]))
    assert time.monotonic() - started < 100


def test_if_every_host_fails_it_is_an_error(ssh: Path) -> None:
    with pytest.raises(KitError, match="the logs of n3 cannot be read"):
        read([], remote=Remote(hosts(3), [str(ssh)]))
    with pytest.raises(KitError, match="cannot be started: No such file"):
        read([], remote=Remote(hosts(1), ["/no/ssh"]))


def test_a_folder_name_is_quoted_for_the_remote_shell(ssh: Path, tmp_path: Path) -> None:
    with pytest.raises(KitError):
        read([], remote=Remote(hosts(1), [str(ssh)], f"x; touch {tmp_path}/owned; #"))
    assert not (tmp_path / "owned").exists()


def test_an_interrupt_that_wakes_no_thread_ends_all(tmp_path: Path) -> None:
    assert_unseen_interrupt_ends(
        "from hccl_kit.diagnosis.logs.remote import Host, Remote, read_remote",
        "read_remote(Remote([Host('node1', 'node1')], ['./sleeper']))",
        tmp_path,
    )
