"""A RayJob on a real Ray with a head and two workers: its ranks, its end, and no processes left.

The entry point is started as KubeRay starts it, from the files of the manifest.
"""

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from hccl_kit.agent.machine import threads
from hccl_kit.launch.emitters import emit
from hccl_kit.runtime.detect import detect
from hccl_kit.runtime.worker_env import TABLE_TIMEOUT
from tests.lab.hosts import needs_hosts
from tests.lab.ray import Cluster, cluster, command_line, needs_ray
from tests.launch import manifests
from tests.launch.jobs import finish
from tests.launch.pods import command
from tests.launch.programs import PACKAGES, PROGRAMS, expected, seen
from tests.launch.ways import planned, servers
from tests.waiting import wait_until

pytestmark = [needs_hosts, needs_ray, pytest.mark.long]

SHOW = """
import json, os, socket, sys
note = {"environ": dict(os.environ), "host": socket.gethostname(), "argv": sys.argv[1:]}
open(f"{os.environ['RANK']}.json", "w").write(json.dumps(note))
print("rank", os.environ["RANK"], "is here")
"""
WAIT = """
import os, sys, time
rank = int(os.environ["RANK"])
open(f"{rank}.ready", "w").close()
while len([name for name in os.listdir() if name.endswith(".ready")]) < 4:
    time.sleep(0.1)
"""
"""Waits until every rank has started."""
SLEEP = f"{WAIT}\ntime.sleep(600)"


@pytest.fixture(scope="module")
def ray() -> Iterator[Cluster]:
    with cluster(2, cards=2) as made:
        yield made


def start(
    ray: Cluster, folder: Path, argv: Sequence[str], *, pods: int = 2, timeout: int = 60
) -> subprocess.Popen[str]:
    """Start the entry point, with `timeout` seconds for servers to join; its ranks run in `folder`."""
    plan, table = planned(servers(*[range(2)] * pods), *argv, framework="pytorch")
    files = manifests.Cluster(folder, emit("rayjob", plan, table, image="x", name="train"))
    program = files.mount("train-start", "/hccl-kit")
    # The nodes of Ray have another working folder than this job, as in pods.
    inside = ["sh", "-c", 'cd "$0" && exec "$@"', str(folder), *argv]
    settings = {**manifests.settings_of(files.documents), "command": inside}
    (program / "job.json").write_text(json.dumps(settings))
    entry: list[str | Path] = [ray.python, "-I", program / "agent.pyz", program / "job.json"]
    return ray.start(entry, {"TMPDIR": str(folder), TABLE_TIMEOUT: str(timeout)}, folder=folder)


def ranks(ray: Cluster, folder: Path) -> list[str]:
    """The remaining processes of a job on its workers; their command lines contain its folder."""
    lines = [command_line(pid) for host in (1, 2) for pid in ray.processes(host)]
    return [line for line in lines if str(folder) in line or "time.sleep(600)" in line]


def ready(folder: Path) -> bool:
    return len([*folder.glob("*.ready")]) == 4


def test_each_worker_runs_the_ranks_of_its_cards(ray: Cluster, tmp_path: Path) -> None:
    given = ["", "a b", "$(id)", "$$(HOME)", "it's", "\n", "训练"]
    done = finish(start(ray, tmp_path, [*command(SHOW), *given]))
    assert done.returncode == 0, done.stderr
    for rank in range(4):
        note = json.loads((tmp_path / f"{rank}.json").read_text())
        env = detect(note["environ"]).env
        assert (env.rank, env.size, env.local_rank) == (rank, 4, rank % 2)
        assert env.master_addr == ray.lab.addresses[1]
        assert (note["host"], note["argv"]) == (ray.lab.names[1 + rank // 2], given)
        assert note["environ"]["OMP_NUM_THREADS"] == str(max(1, len(os.sched_getaffinity(0)) // 2))
        assert note["environ"]["ASCEND_RT_VISIBLE_DEVICES"] == "0,1"
        assert done.stdout.count(f":{rank}] rank {rank} is here\n") == 1


@pytest.mark.torch
@pytest.mark.parametrize("name", ["trainer", "lightning"])
def test_a_program_of_torch_trains_unchanged(ray: Cluster, tmp_path: Path, name: str) -> None:
    for package in PACKAGES[name]:
        pytest.importorskip(package)
    done = finish(start(ray, tmp_path, command(PROGRAMS[name])), 600)
    assert done.returncode == 0, done.stderr
    assert seen(done.stdout) == expected(2, 2, threads(2, {}))


def test_the_first_rank_that_fails_ends_the_other_server(ray: Cluster, tmp_path: Path) -> None:
    done = finish(start(ray, tmp_path, command(f"{WAIT}\nsys.exit(7) if rank == 2 else time.sleep(600)")))
    assert done.returncode == 7
    assert f"error: the ranks of server 1 ({ray.lab.addresses[2]}) failed with exit code 7\n" in done.stderr
    assert f"rank 2 on device 0 of {ray.lab.names[2]} failed with exit code 7" in done.stderr
    assert ranks(ray, tmp_path) == []


def test_sigterm_ends_all_ranks(ray: Cluster, tmp_path: Path) -> None:
    job = start(ray, tmp_path, command(SLEEP))
    assert wait_until(lambda: ready(tmp_path))
    job.send_signal(signal.SIGTERM)
    done = finish(job)
    assert done.returncode == 143
    assert "error: ended by SIGTERM\n" in done.stderr
    assert ranks(ray, tmp_path) == []


def test_a_killed_entry_point_leaves_no_ranks(ray: Cluster, tmp_path: Path) -> None:
    """Ray kills it three seconds after SIGTERM, and a node that runs out of memory at any time."""
    job = start(ray, tmp_path, command(SLEEP))
    assert wait_until(lambda: ready(tmp_path))
    assert len(ranks(ray, tmp_path)) >= 4
    job.kill()
    finish(job)
    assert wait_until(lambda: not ranks(ray, tmp_path)), ranks(ray, tmp_path)


def test_missing_servers_are_reported(ray: Cluster, tmp_path: Path) -> None:
    done = finish(start(ray, tmp_path, command(SHOW), pods=3, timeout=3))
    assert done.returncode == 2
    assert (
        "error: after 3 s, 3 server(s) with 2 NPU each have not joined the Ray cluster\n"
        "  fix: kubectl get pods, and check that the workers run\n"
    ) in done.stderr


def test_sigterm_ends_the_wait_for_servers(ray: Cluster, tmp_path: Path) -> None:
    job = start(ray, tmp_path, command(SHOW), pods=3)
    with pytest.raises(subprocess.TimeoutExpired):
        job.wait(8)
    job.send_signal(signal.SIGTERM)
    done = finish(job)
    assert done.returncode == 143
    assert "error: ended by SIGTERM\n" in done.stderr


def test_a_lost_server_is_named_and_ends_the_others(tmp_path: Path) -> None:
    with cluster(2, cards=2) as ray:
        job = start(ray, tmp_path, command(SLEEP))
        assert wait_until(lambda: ready(tmp_path))
        for pid in ray.processes(2):
            os.kill(pid, signal.SIGKILL)
        done = finish(job)
        assert done.returncode == 1
        assert re.search(rf"^error: server 1 \({ray.lab.addresses[2]}\) was lost: ", done.stderr, re.MULTILINE)
        assert ranks(ray, tmp_path) == []
