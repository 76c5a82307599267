"""The rendezvous program, run as processes on this host: missing nodes, the first failure, invalid messages."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Timer
from typing import IO

import pytest

from hccl_kit.launch.shell import program_text
from tests.launch.ways import write_secret
from tests.ports import free_port
from tests.waiting import PATIENCE, wait_until

SHA = "ab" * 32
SERVERS = ("first", "second", "third")
PROGRAM = program_text("rendezvous")


class Nodes:
    """Nodes of one job; every process is killed at the end."""

    def __init__(self, folder: Path) -> None:
        self.secret = write_secret(folder / "job.sh")
        self.port = free_port()
        self.processes: list[subprocess.Popen[str]] = []

    def start(
        self, node: int, *, timeout: float = PATIENCE, sha256: str = SHA, count: int = 2
    ) -> subprocess.Popen[str]:
        master_port = 4711 if node == 0 else 0
        words = (node, "127.0.0.1", self.port, "THE_PORT", sha256, timeout, "1-2", master_port, self.secret)
        process = subprocess.Popen(
            [sys.executable, "-I", "-c", PROGRAM, *map(str, words), *SERVERS[:count]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        self.processes.append(process)
        return process


@pytest.fixture
def job_nodes(tmp_path: Path) -> Iterator[Nodes]:
    made = Nodes(tmp_path)
    yield made
    for process in made.processes:
        process.kill()
        process.communicate()


def say(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdin
    process.stdin.write(f"{line}\n")
    process.stdin.flush()


def heard(process: subprocess.Popen[str], stream: IO[str] | None = None) -> str:
    """The next line of standard output or of the given stream; empty if the process ends."""
    stream = stream or process.stdout
    assert stream
    too_long = Timer(PATIENCE, process.kill)
    too_long.start()
    try:
        return stream.readline().strip()
    finally:
        too_long.cancel()


def connect(port: int) -> socket.socket:
    """Connect to node 0 as soon as it listens."""
    found: list[socket.socket] = []

    def is_open() -> bool:
        with suppress(OSError):
            found.append(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE))
        return bool(found)

    assert wait_until(is_open), "node 0 does not listen"
    return found[0]


def met(job_nodes: Nodes, count: int = 2) -> list[subprocess.Popen[str]]:
    """All nodes of a job that has started."""
    nodes = [job_nodes.start(node, count=count) for node in reversed(range(count))][::-1]  # node 0 is the last to come
    assert [heard(node) for node in nodes] == ["start 1-2 4711"] * count
    return nodes


def test_all_nodes_get_the_message_of_node_0_and_finish_together(job_nodes: Nodes) -> None:
    nodes = met(job_nodes, 3)
    say(nodes[2], "done")
    say(nodes[0], "done")
    time.sleep(0.3)
    assert [node.poll() for node in nodes] == [None] * 3
    say(nodes[1], "done")
    assert [heard(node) for node in nodes] == ["done"] * 3
    assert [node.wait(PATIENCE) for node in nodes] == [0] * 3


@pytest.mark.parametrize("failing", range(3))
def test_all_nodes_are_told_which_node_failed(job_nodes: Nodes, failing: int) -> None:
    nodes = met(job_nodes, 3)
    say(nodes[failing], "failed 5 137 0")
    assert [heard(node) for node in nodes] == [f"over 5 137 {failing}"] * 3
    assert [node.wait(PATIENCE) for node in nodes] == [1] * 3


def test_the_earlier_failure_counts_not_the_one_reported_first(job_nodes: Nodes) -> None:
    nodes = met(job_nodes)
    say(nodes[0], "failed 0 1 0")
    say(nodes[1], "failed 1 7 2.5")
    assert [heard(node) for node in nodes] == ["over 1 7 1"] * 2


@pytest.mark.parametrize("lost", [0, 1])
def test_a_node_that_disconnects_is_lost(job_nodes: Nodes, lost: int) -> None:
    nodes = met(job_nodes)
    nodes[lost].kill()
    assert heard(nodes[1 - lost]) == f"over -1 255 {lost}"
    assert nodes[1 - lost].wait(PATIENCE) == 1


def test_a_missing_node_is_named(job_nodes: Nodes) -> None:
    other, one = job_nodes.start(1, count=3), job_nodes.start(0, timeout=8, count=3)
    assert one.communicate(timeout=PATIENCE)[1] == (
        "error: third did not join within 8 s\n"
        f"  fix: start this script there too; it must reach this node's port {job_nodes.port}\n"
    )
    assert one.returncode == 2
    assert other.wait(PATIENCE) == 1


def test_without_node_0_the_others_name_the_address_they_tried(job_nodes: Nodes) -> None:
    alone = job_nodes.start(1, timeout=1)
    _, err = alone.communicate(timeout=PATIENCE)
    assert f"error: first (127.0.0.1 port {job_nodes.port}) did not answer within 1 s: " in err
    assert alone.returncode == 2


def test_a_node_with_another_table_is_refused_and_named(job_nodes: Nodes) -> None:
    one, other = job_nodes.start(0), job_nodes.start(1, sha256="cd" * 32)
    assert f"error: first refuses this node: node 0 has the table {SHA}\n" in other.communicate(timeout=PATIENCE)[1]
    assert other.returncode == 2
    assert heard(one, one.stderr) == f"error: second has a different rank table, sha256 {'cd' * 32}"


def test_a_node_that_is_started_twice_is_refused(job_nodes: Nodes) -> None:
    job_nodes.start(0, count=3)
    both = [job_nodes.start(1, count=3), job_nodes.start(1, count=3)]
    assert wait_until(lambda: any(node.poll() is not None for node in both))
    (late,) = (node for node in both if node.poll() is not None)
    assert "error: first refuses this node: second has already joined\n" in late.communicate(timeout=PATIENCE)[1]


@pytest.mark.parametrize(
    "invalid",
    [
        b"\n",
        b"hello\n",
        b"hello 9 x\n",
        b"hello -1 x\n",
        b"hello x x\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"\xff\n",
        b"x" * 9999,
    ],
    ids=repr,
)
def test_invalid_messages_of_strangers_are_ignored(job_nodes: Nodes, invalid: bytes) -> None:
    job_nodes.start(0)
    with connect(job_nodes.port) as stranger:
        stranger.sendall(invalid)
        job_nodes.start(1)
        assert heard(job_nodes.processes[0]) == heard(job_nodes.processes[1]) == "start 1-2 4711"


@pytest.mark.parametrize("words", ["failed", "failed x y z", "failed 1 2", "finished"])
def test_a_script_that_sends_invalid_messages_counts_as_lost_at_its_end(job_nodes: Nodes, words: str) -> None:
    nodes = met(job_nodes)
    say(nodes[1], words)
    nodes[1].kill()
    assert heard(nodes[0]) == "over -1 255 1"


@pytest.mark.parametrize("node", [0, 1], ids=["waiting", "connecting"])
def test_the_program_ends_with_its_script(job_nodes: Nodes, node: int) -> None:
    nodes = met(job_nodes)
    port = free_port()
    words = f"{node} 127.0.0.1 {port} NAME {SHA} {20 * PATIENCE} 1-2 5 {job_nodes.secret} a b"
    script = f'"$0" -I -c "$1" {words} < <(sleep 600) >/dev/null & echo $!; wait'
    parent = subprocess.Popen(
        ["bash", "-c", script, sys.executable, PROGRAM],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout
    child = int(parent.stdout.readline())
    if node == 0:
        connect(port).close()
    else:
        with socket.create_server(("127.0.0.1", port)) as node_0:
            node_0.settimeout(PATIENCE)
            node_0.accept()[0].close()
    parent.kill()
    parent.communicate()
    assert wait_until(lambda: not Path(f"/proc/{child}").exists())
    assert all(node.poll() is None for node in nodes)
    os.kill(nodes[0].pid, 9)
