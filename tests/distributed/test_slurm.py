"""Two ranks on the two nodes of a real Slurm train the network that two ranks train anywhere, bit for bit."""

import subprocess
from collections.abc import Iterator

import pytest

from hccl_kit.launch import slurm
from hccl_kit.rank_table import Device, RankTable, Server
from tests.distributed.jobs import OURS, PATIENCE, ROOT, Job
from tests.distributed.test_ways import assert_same
from tests.lab.slurm import Cluster, cluster, needs_slurm
from tests.launch.ways import planned, write

pytestmark = [pytest.mark.train, needs_slurm]

ENVIRON = {"PYTHONPATH": str(ROOT), **dict.fromkeys(OURS, "")}


@pytest.fixture(scope="module")
def lab() -> Iterator[Cluster]:
    with cluster() as made:
        yield made


def train_by_script(job: Job, lab: Cluster, *overrides: str) -> str:
    """Submit our script for a table whose first server is the second node; the number of the job."""
    nodes = ("n2", "n1")
    made = tuple(Server(name, (Device(0, None, rank),)) for rank, name in enumerate(nodes))
    plan, file = planned(RankTable(version="1.0", status="completed", servers=made), *job.train(*overrides))
    script = write(job.folder, slurm.emit(plan, file))
    (job.folder / file.name).write_text(file.text)
    return lab.submit(["--output=out", script], folder=job.folder, environ=ENVIRON)


def test_our_batch_script(job: Job, two_ranks: Job, lab: Cluster) -> None:
    number = train_by_script(job, lab)
    assert lab.exit_code(number, PATIENCE) == 0, (job.folder / "out").read_text()
    assert_same(job, two_ranks, "script")
    assert "rank 0 of 2 on CPU" in (job.folder / "out").read_text()


def test_plain_srun(job: Job, two_ranks: Job, lab: Cluster) -> None:
    done: subprocess.CompletedProcess[str] = lab.run(
        ["srun", "-N2", "-n2", "-K1", *job.train()], folder=job.folder, environ=ENVIRON, seconds=PATIENCE
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert_same(job, two_ranks, "srun")
    log = (job.folder / "run" / "log_1.txt").read_text(encoding="utf-8")
    assert "launcher srun (the environment holds SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2)" in log
