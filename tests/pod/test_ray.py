"""The entry point of a RayJob, which is run with a fake Ray in one process: `tests/launch/fake_ray`."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hccl_kit.launch.emitters import emit
from hccl_kit.pod import ray
from hccl_kit.runtime.detect import detect
from tests.launch.jobs import clean_environ
from tests.launch.manifests import Cluster
from tests.launch.pods import HOST, SHOW, command, finish, told
from tests.launch.ways import planned, servers
from tests.places import ROOT
from tests.waiting import wait_until

FAKE = ROOT / "tests" / "launch" / "fake_ray"
PROGRAM = """
import runpy, sys
fake, sys.argv[:] = sys.argv[1], sys.argv[2:]
sys.path.insert(0, fake)
runpy.run_path(sys.argv[0], {}, "__main__")
"""
ADDRESSES = ("10.0.0.10", "10.0.0.9")


class Head:
    """The pod of the head, with the programs of the manifest in `folder`."""

    def __init__(self, folder: Path, argv: Sequence[str], fake: dict[str, Any], *, timeout: str = "1800") -> None:
        plan, table = planned(servers(range(2), range(2)), *argv, framework="pytorch")
        cluster = Cluster(folder, emit("rayjob", plan, table, image="x", name="train"))
        programs = cluster.mount("train-start", "/hccl-kit")
        self.log = folder / "ray.log"
        more = {"RAY_FAKE": json.dumps({"addresses": ADDRESSES, **fake}), "RAY_FAKE_LOG": str(self.log)}
        more["HCCL_KIT_TABLE_TIMEOUT"] = timeout
        environ = clean_environ({**more, "TMPDIR": str(folder), "OMP_NUM_THREADS": "1"})
        self.process = subprocess.Popen(
            [sys.executable, "-Iuc", PROGRAM, str(FAKE), programs / "agent.pyz", programs / "job.json"],
            cwd=folder,
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def asked(self) -> list[dict[str, Any]]:
        """The requests to Ray."""
        return [json.loads(line) for line in self.log.read_text().splitlines()]


def test_each_worker_runs_the_ranks_of_its_cards(tmp_path: Path) -> None:
    head = Head(tmp_path, command(SHOW), {})
    done = finish(head.process)
    assert (done.returncode, done.stderr) == (0, "")
    threads = set(re.findall("OMP_NUM_THREADS=[0-9]+", done.stdout))
    for rank in range(4):
        environ = told(tmp_path, rank)
        env = detect(environ).env
        assert (env.rank, env.size, env.local_rank, env.master_addr) == (rank, 4, rank % 2, "10.0.0.9")
        assert environ["HCCL_KIT_POD"] == str(rank // 2)
        assert {f"OMP_NUM_THREADS={environ['OMP_NUM_THREADS']}"} == threads
    first, group, *actors = head.asked()
    assert first == {"address": "auto", "dedup": "0"}
    assert group == {"bundles": [{"NPU": 2}, {"NPU": 2}], "strategy": "STRICT_SPREAD"}
    assert actors == [{"resources": {"NPU": 2}, "num_cpus": 0, "bundle": bundle} for bundle in (0, 1)]


def test_words_arrive_at_the_ranks_unchanged(tmp_path: Path) -> None:
    given = ["", "a b", "$(id)", "$$(HOME)", "it's", "\n", "训练"]
    program = "import json, os, sys; open(os.environ['RANK'], 'w').write(json.dumps(sys.argv[1:]))"
    assert finish(Head(tmp_path, [*command(program), *given], {}).process).returncode == 0
    assert [json.loads((tmp_path / str(rank)).read_text()) for rank in range(4)] == [given] * 4


def test_the_first_server_that_fails_ends_the_others(tmp_path: Path) -> None:
    program = (
        "import os, sys, time\nopen(os.environ['RANK'] + '.ready', 'w').close()\n"
        "while len([name for name in os.listdir() if name.endswith('.ready')]) < 4: time.sleep(0.05)\n"
        "sys.exit('no data') if os.environ['RANK'] == '2' else time.sleep(60)"
    )
    done = finish(Head(tmp_path, command(program), {}).process)
    assert done.returncode == 1
    assert f"error: rank 2 on device 0 of {HOST} failed with exit code 1\n" in done.stderr
    assert "error: the ranks of server 1 (10.0.0.10) failed with exit code 1\n" in done.stderr
    assert "ended by SIGTERM; " in done.stderr


def test_a_lost_server_ends_the_others(tmp_path: Path) -> None:
    done = finish(Head(tmp_path, command("import time; time.sleep(60)"), {"lost": 1}).process)
    assert done.returncode == 1
    assert "error: server 0 (10.0.0.9) was lost: RayActorError\n" in done.stderr


def test_missing_servers_are_reported(tmp_path: Path) -> None:
    done = finish(Head(tmp_path, command(SHOW), {"joined": 1}, timeout="1").process)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: after 1 s, 2 server(s) with 2 NPU each have not joined the Ray cluster\n"
        "  fix: kubectl get pods, and check that the workers run\n"
    )


def test_sigterm_ends_all_ranks(tmp_path: Path) -> None:
    program = "import os, time; open(os.environ['RANK'] + '.ready', 'w').close(); time.sleep(60)"
    head = Head(tmp_path, command(program), {})
    assert wait_until(lambda: len([*tmp_path.glob("*.ready")]) == 4)
    head.process.send_signal(signal.SIGTERM)
    done = finish(head.process)
    assert done.returncode == 143
    assert done.stderr.count("ended by SIGTERM") == 3  # the entry point, and the ranks of two servers


@pytest.mark.parametrize(
    ("addresses", "order"),
    [
        (["10.0.0.10", "10.0.0.9"], [1, 0]),
        (["10.0.0.1", "10.0.0.1"], [0, 1]),
        (["fd00::2", "fd00::1"], [1, 0]),
        (["9.0.0.1"], [0]),
    ],
)
def test_servers_are_numbered_in_numerical_order_of_their_addresses(addresses: list[str], order: list[int]) -> None:
    assert ray.in_order(addresses) == order
