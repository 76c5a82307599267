"""Attackers on the network of a job: they connect from a separate host, and from each of its addresses."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hccl_kit.runtime.worker_env import LINK_PORT
from tests.lab.hosts import Hosts, hosts, needs_hosts
from tests.launch.jobs import finish
from tests.launch.nodes import python_nodes_job
from tests.launch.ways import write_secret
from tests.waiting import PATIENCE, wait_until

pytestmark = needs_hosts

PORT = "21979"
ATTACKER = 2
ATTACK = """
import selectors, socket, sys, time
address, port, kind = sys.argv[1], int(sys.argv[2]), sys.argv[3]
first = {"hold": b"", "blank": b"\\n", "slow": b"h", "long": b"x" * 9999, "hello": b"hello 1 %s %s\\nproof %s\\n"}[kind]
first = first.replace(b"%s", b"0" * 64)
open_ones = []
while True:
    try:
        one = socket.create_connection((address, port), timeout=2)
        one.sendall(first)
        open_ones.append(one)
    except OSError:
        time.sleep(0.01)
    if len(open_ones) == 400:
        print("many", flush=True)
    for other in open_ones[-20:]:
        try: other.send(b"\\n" if kind == "blank" else b"h" if kind == "slow" else b"")
        except OSError: pass
    if len(open_ones) > 500: open_ones.pop(0).close()
    time.sleep(0.002)
"""
"""Holds 500 connections and opens new ones forever, but leaves the nodes, which share its processor, some time."""


@pytest.fixture(scope="module")
def lab() -> Iterator[Hosts]:
    with hosts(3) as made:
        yield made


@contextmanager
def started(lab: Hosts, host: int, *command: str | Path) -> Iterator[subprocess.Popen[str]]:
    process = lab.start(host, [str(word) for word in command])
    yield process
    process.send_signal(signal.SIGKILL)
    process.communicate()


@pytest.mark.parametrize("kind", ["hold", "blank", "slow", "long", "hello"])
def test_a_job_starts_and_succeeds_under_a_connection_flood(tmp_path: Path, lab: Hosts, kind: str) -> None:
    job = python_nodes_job(tmp_path, lab, "print('rank', rank)", ids=lab.addresses[:2])
    environ = {LINK_PORT: PORT}
    one = job.start(0, environ=environ)
    with started(lab, ATTACKER, sys.executable, "-c", ATTACK, lab.addresses[0], PORT, kind) as attack:
        assert attack.stdout
        assert attack.stdout.readline() == "many\n"
        other = job.start(1, environ=environ)
        done = [finish(process) for process in (one, other)]
    assert [process.returncode for process in done] == [0, 0], done
    assert "\x1b" not in done[0].stderr
    assert len(done[0].stderr.splitlines()) <= 20
    assert [job.log(rank) for rank in range(4)] == [f"rank {rank}\n" for rank in range(4)]


def test_a_peer_with_script_and_table_cannot_replace_a_node(tmp_path: Path, lab: Hosts) -> None:
    job = python_nodes_job(tmp_path, lab, "print('rank', rank)", ids=lab.addresses[:2])
    stolen = tmp_path / "stolen"
    stolen.mkdir()
    for name in (job.script.name, "table.json"):
        (stolen / name).write_bytes((tmp_path / name).read_bytes())
    write_secret(stolen / job.script.name, "fedcba9876543210" * 4)
    environ = {LINK_PORT: PORT}
    one = job.start(0, environ=environ)
    command = ["bash", str(stolen / job.script.name), "--server", lab.addresses[1]]
    theirs = {LINK_PORT: PORT, "PATH": "/usr/bin:/bin"}
    stranger = lab.run(ATTACKER, command, environ=theirs, folder=stolen, seconds=PATIENCE)
    assert stranger.returncode == 2
    assert "does not prove that it knows the secret of this job" in stranger.stderr
    other = job.start(1, environ=environ)
    assert [finish(process).returncode for process in (one, other)] == [0, 0]


def test_both_nodes_report_an_impostor_at_the_port_of_node_0(tmp_path: Path, lab: Hosts) -> None:
    job = python_nodes_job(tmp_path, lab, "print('rank', rank)", ids=lab.addresses[:2])
    answer = f"import socket\ns = socket.create_server(('', {PORT}))\nprint('listens', flush=True)\n"
    answer += "while True: s.accept()[0].sendall(b'start 1-2 4711\\nover -1 a[$(touch pwned)] x\\n')"
    with started(lab, 0, sys.executable, "-c", answer) as impostor:
        assert impostor.stdout
        assert impostor.stdout.readline() == "listens\n"
        done = [finish(job.start(node, environ={LINK_PORT: PORT})) for node in (0, 1)]
    assert [process.returncode for process in done] == [2, 2]
    assert (
        f"error: cannot listen on port {PORT} for the other nodes of the job: Address already in use\n"
        in done[0].stderr
    )
    where = f"{lab.addresses[0]} ({lab.addresses[0]} port {PORT})"
    assert f"error: {where} does not prove that it knows the secret of this job: 'start 1-2 4711'\n" in done[1].stderr
    for process in done:
        assert f"export {LINK_PORT}=PORT, the same free one on every server\n" in process.stderr
    assert not list(tmp_path.rglob("pwned"))
    assert wait_until(lambda: job.processes() == [])


def test_node_0_is_reachable_at_its_own_address_only(tmp_path: Path, lab: Hosts) -> None:
    job = python_nodes_job(tmp_path, lab, "print('rank', rank)", ids=lab.addresses[:2])
    one = job.start(0, environ={LINK_PORT: PORT})
    knock = ["timeout", "5", "bash", "-c", f": </dev/tcp/$0/{PORT}"]
    assert wait_until(lambda: lab.run(1, [*knock, lab.addresses[0]]).returncode == 0)
    assert lab.run(0, [*knock, "127.0.0.1"]).returncode != 0
    one.terminate()
    finish(one)
