"""Programs of torch, unchanged, on two servers: over ssh, mpirun, Slurm with and without the kit, and in pods."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hccl_kit.agent.machine import threads
from hccl_kit.launch.emitters import emit, mpirun, slurm
from tests.lab.hosts import Hosts, hosts, needs_hosts
from tests.lab.slurm import Cluster, cluster, needs_slurm
from tests.launch import manifests
from tests.launch.controllers import address_of, pods_of
from tests.launch.jobs import clean_environ, finish
from tests.launch.nodes import RANKS, make_nodes_job, table_of
from tests.launch.programs import PACKAGES, PROGRAMS, expected, seen, seen_in
from tests.launch.ways import planned, servers, write
from tests.places import FILES_OF_MPIRUN

pytestmark = [pytest.mark.torch, pytest.mark.long]

PATIENCE = 600.0
"""Seconds of a job whose four ranks import torch and more, on two cores."""


def program(folder: Path, name: str) -> tuple[str, ...]:
    """The command of a rank. Skips the test if a package is missing."""
    for package in PACKAGES[name]:
        pytest.importorskip(package)
    path = folder / "program.py"
    path.write_text(PROGRAMS[name], encoding="utf-8")
    return (sys.executable, "-u", *(("-m", "mpi4py") if name == "mpi" else ()), str(path))


@pytest.fixture(scope="module")
def lab() -> Iterator[Hosts]:
    with hosts(2) as made:
        yield made


@needs_hosts
@pytest.mark.parametrize("name", ["ddp", "accelerate", "trainer", "lightning"])
def test_over_ssh(tmp_path: Path, lab: Hosts, name: str) -> None:
    job = make_nodes_job(tmp_path, program(tmp_path, name), lab=lab)
    done = finish(job.start("--framework", "pytorch", stderr=subprocess.STDOUT), PATIENCE)
    assert done.returncode == 0, done.stdout
    assert seen_in(job.logs) == expected(2, RANKS, threads(RANKS, {}))


@needs_hosts
@pytest.mark.skipif(not Path(sys.executable).with_name("mpirun").exists(), reason="needs the extra mpi")
@pytest.mark.parametrize("name", ["mpi", "trainer", "lightning"])
def test_under_mpirun(tmp_path: Path, lab: Hosts, name: str) -> None:
    table = servers((4, 5), (4, 5), ids=lab.addresses)
    script = write(tmp_path, mpirun.emit(*planned(table, *program(tmp_path, name))))
    environ = {name: value for name, value in clean_environ().items() if name != FILES_OF_MPIRUN}
    done = lab.run(0, ["bash", script], environ=environ, folder=tmp_path, seconds=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert seen(done.stdout) == expected(2, RANKS, threads(RANKS, {}))


PODS = [("jobset", "lightning"), ("lws", "ddp"), ("pytorchjob", "trainer"), ("trainjob", "accelerate")]


@needs_hosts
@pytest.mark.parametrize(("kind", "name"), PODS)
def test_in_pods(tmp_path: Path, kind: str, name: str) -> None:
    plan, table = planned(servers((0, 1), (0, 1)), *program(tmp_path, name), framework="pytorch")
    pods = manifests.Cluster(tmp_path, emit(kind, plan, table, image="x", name="train"))
    with hosts(2) as lab:
        lab.add_name(0, address_of(kind, "train"))
        running = []
        for number, pod in enumerate(pods_of(kind, pods.documents)):
            argv, environ = pods.pod(pod.template, pod.fields, pod.environ)
            running.append(lab.start(number, argv, environ=environ, folder=tmp_path))
        ended = [finish(process, PATIENCE) for process in running]
    assert [done.returncode for done in ended] == [0, 0], ended
    assert seen("".join(done.stdout for done in ended)) == expected(2, RANKS, 1)  # the pods set it


@pytest.fixture(scope="module")
def allocations() -> Iterator[Cluster]:
    with cluster() as made:
        yield made


@needs_slurm
@pytest.mark.parametrize("has_kit", [True, False], ids=["kit", "srun"])
@pytest.mark.parametrize("name", ["accelerate", "trainer", "lightning"])
def test_under_slurm(tmp_path: Path, allocations: Cluster, name: str, has_kit: bool) -> None:
    plan, file = planned(table_of(("n2", "n1")), *program(tmp_path, name), framework="pytorch")
    script = write(tmp_path, slurm.emit(plan, file))
    (tmp_path / file.name).write_text(file.text)
    path = allocations.environ["PATH"] if has_kit else "/usr/bin:/bin"
    job = allocations.submit(["--output=out", script], folder=tmp_path, environ={"PATH": path})
    assert allocations.exit_code(job, PATIENCE) == 0, (tmp_path / "out").read_text()
    assert seen_in(tmp_path / "hccl_logs" / "latest") == expected(2, RANKS, 1)
