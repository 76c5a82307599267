"""Two simultaneous jobs on the same hosts, whose ranks listen on HCCL's ports: both start with --job."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hccl_kit.launch.job_ports import job_ports
from hccl_kit.table import formats
from tests.lab.hosts import Hosts, hosts, needs_hosts
from tests.launch.jobs import TABLE, clean_environ, finish
from tests.launch.nodes import RANKS, table_of
from tests.places import ROOT
from tests.waiting import wait_until

pytestmark = needs_hosts

RANK = """
import json, os, socket, sys, time

def ports(name):
    parts = [part.split("-") for part in os.environ.get(name, "").split(",") if part]
    return [port for part in parts for port in range(int(part[0]), int(part[-1]) + 1)]

def listen(address, candidates):
    for last, port in enumerate(candidates, 1 - len(candidates)):
        held = socket.socket()
        try:
            held.bind((address, port))
            held.listen()
            return held
        except OSError as error:
            if last == 0:
                sys.exit(f"listen on ip[{address}] and specific port[{port}] fail: {error.strerror}")

card, rank = int(os.environ["DEVICE_ID"]), os.environ["RANK_ID"]
base = int(os.environ.get("HCCL_IF_BASE_PORT") or 60000)
here = socket.gethostbyname(socket.gethostname())
held = [
    listen(here, ports("HCCL_HOST_SOCKET_PORT_RANGE") or [base + card]),
    listen(f"127.1.0.{card + 1}", ports("HCCL_NPU_SOCKET_PORT_RANGE") or [16666]),
]
if rank == "0":
    held.append(listen("", [int(os.environ["MASTER_PORT"])]))
told = {"ports": [one.getsockname()[1] for one in held]}
with open(f"up_{rank}.part", "w") as file:
    json.dump(told, file)
os.rename(f"up_{rank}.part", f"up_{rank}.json")
while not os.path.exists("go"):
    time.sleep(0.05)
"""
"""A rank that listens like HCCL: on the host at the base port plus its card, or in the range; and on its card."""


@pytest.fixture(scope="module")
def lab() -> Iterator[Hosts]:
    with hosts(2) as made:
        for host in range(2):  # as docs/launch.md tells users: or the connection of a host takes a port of its ranks
            reserve = "echo 60000-60001 >/proc/sys/net/ipv4/ip_local_reserved_ports"
            assert made.run(host, ["sh", "-c", reserve]).returncode == 0
        yield made


class Job:
    """A job on all cards of both hosts, in a shared folder."""

    def __init__(self, folder: Path, lab: Hosts, launcher: str, *options: str) -> None:
        self.folder, self.lab = folder, lab
        folder.mkdir()
        (folder / "rank.py").write_text(RANK)
        (folder / TABLE).write_text(formats.write(table_of(lab.addresses)))
        command = [sys.executable, "-m", "hccl_kit.cli.kit", "launch", TABLE, "--to", launcher, *options]
        environ = {**clean_environ(), "PYTHONPATH": str(ROOT)}
        subprocess.run([*command, "--", sys.executable, "rank.py"], cwd=folder, env=environ, check=True)
        (self.script,) = folder.glob(f"*{2 * RANKS}p.sh")

    def start(self) -> list[subprocess.Popen[str]]:
        variables = clean_environ({"PWD": str(self.folder)})
        return [
            self.lab.start(host, ["bash", self.script], environ=variables, folder=self.folder, stderr=subprocess.STDOUT)
            for host in range(2)
        ]

    @property
    def ranks(self) -> list[Path]:
        return sorted(self.folder.glob("up_*.json"))

    @property
    def ports(self) -> set[int]:
        return {port for path in self.ranks for port in json.loads(path.read_text())["ports"]}

    def let_go(self) -> None:
        (self.folder / "go").touch()


def is_up(job: Job) -> bool:
    return len(job.ranks) == 2 * RANKS


def test_with_numbers_both_jobs_run_at_once(tmp_path: Path, lab: Hosts) -> None:
    jobs = [Job(tmp_path / str(number), lab, "bash", "--job", str(number)) for number in range(2)]
    running = [process for job in jobs for process in job.start()]
    try:
        assert wait_until(lambda: all(map(is_up, jobs)))  # at the same time: no rank ends before it is released
    finally:
        for job in jobs:
            job.let_go()
        ended = [finish(process) for process in running]
    assert [(done.returncode, done.stdout.partition("\n")[0][:5]) for done in ended] == [(0, "ranks")] * 4
    for number, job in enumerate(jobs):
        block = job_ports(number).block
        assert {block.first, job_ports(number).card.first, job_ports(number).master} <= job.ports
        assert all(block.first <= port <= block.last for port in job.ports)
