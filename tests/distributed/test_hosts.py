"""Two hosts of the lab train one network: with our script on each, mpirun, or msrun."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hccl_kit.launch.emitters import bash, mpirun, msrun
from tests.distributed.jobs import PATIENCE, Job
from tests.lab.hosts import Hosts, hosts, needs_hosts
from tests.launch.jobs import clean_environ
from tests.launch.ways import planned, servers, write
from tests.ocr.run_tool import OURS
from tests.places import ROOT

pytestmark = [pytest.mark.train, needs_hosts]

HERE = Path(sys.executable).parent


@pytest.fixture(scope="module")
def lab() -> Iterator[Hosts]:
    with hosts(2) as made:
        yield made


def start(lab: Hosts, host: int, job: Job, script: Path) -> "subprocess.Popen[str]":
    variables = clean_environ({"PYTHONPATH": str(ROOT), "PWD": str(job.folder)})
    environ = {name: value for name, value in variables.items() if name not in OURS}
    return lab.start(host, ["bash", script], environ=environ, folder=job.folder)


def finish(process: "subprocess.Popen[str]") -> None:
    try:
        out, err = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.communicate()
        raise
    assert process.returncode == 0, out + err


def assert_trained(job: Job, launcher: str) -> None:
    assert (job.summary["launcher"], job.summary["world_size"]) == (launcher, 2)
    assert job.summary["ranks_equal"] is True


@pytest.mark.long
def test_bash_by_hand(lab: Hosts, job: Job) -> None:
    plan, table = planned(servers((0,), (0,), ids=lab.addresses), *job.train())
    (job.folder / table.name).write_text(table.text, encoding="utf-8")
    script = write(job.folder, bash.emit(plan, table))
    for process in [start(lab, host, job, script) for host in range(2)]:
        finish(process)
    assert_trained(job, "script")


@pytest.mark.skipif(not (HERE / "mpirun").exists(), reason="needs the extra mpi, which brings mpirun")
@pytest.mark.long
def test_mpirun(lab: Hosts, job: Job) -> None:
    script = write(job.folder, mpirun.emit(*planned(servers((0,), (0,), ids=lab.addresses), *job.train())))
    finish(start(lab, 0, job, script))
    assert_trained(job, "mpirun")


@pytest.mark.long
def test_msrun(lab: Hosts, job: Job) -> None:
    command = ("python", *job.train()[1:])  # msrun takes it from PATH
    script = write(job.folder, msrun.emit(*planned(servers((0,), (0,), ids=lab.addresses), *command)))
    for process in [start(lab, host, job, script) for host in range(2)]:
        finish(process)
    assert_trained(job, "msrun")
