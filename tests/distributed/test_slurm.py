"""Two ranks on two nodes of a real Slurm train identical networks: by our batch script, hccl-kit, and plain srun."""

import os
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hccl_kit.launch.emitters import slurm
from hccl_kit.table.model import Device, RankTable, Server
from tests.distributed.jobs import PATIENCE, Job
from tests.distributed.test_resume import step_of
from tests.lab.slurm import Cluster, cluster, needs_slurm
from tests.launch.ways import planned, write
from tests.places import ROOT
from tests.waiting import wait_until

pytestmark = [pytest.mark.train, needs_slurm]

LONG = ("train.max_steps=90", "train.resume_interval_steps=4")
ENVIRON = {"PYTHONPATH": str(ROOT), "PATH": os.defpath}  # without hccl-kit, which would start the ranks
TABLE = RankTable(
    version="1.0",
    status="completed",
    servers=(Server("n2", (Device(0, "192.0.2.1", 0),)), Server("n1", (Device(0, "192.0.2.2", 1),))),
)
"""Its first server is the second node."""
CPUS = f"--cpus-per-task={len(os.sched_getaffinity(0))}"
"""Otherwise Slurm gives a rank one CPU, and training takes four times as long."""


@pytest.fixture(scope="module")
def lab() -> Iterator[Cluster]:
    with cluster() as made:
        yield made


def submit(job: Job, lab: Cluster, *, path: str = os.defpath, **options: Any) -> str:
    """Our script; the output of the job is in the file `out`."""
    plan, file = planned(TABLE, *job.train(*LONG))
    script = write(job.folder, slurm.emit(plan, file, **options))
    (job.folder / file.name).write_text(file.text)
    return lab.submit(["--output=out", CPUS, script], folder=job.folder, environ={**ENVIRON, "PATH": path})


@pytest.fixture(scope="module")
def by_script(new_job: Callable[[], Job], lab: Cluster) -> Job:
    """An undisturbed job."""
    job = new_job()
    assert lab.exit_code(submit(job, lab), PATIENCE) == 0, (job.folder / "out").read_text()
    return job


def assert_trained(job: Job, launcher: str) -> None:
    assert (job.summary["launcher"], job.summary["world_size"]) == (launcher, 2)
    assert (job.summary["ranks_equal"], job.summary["steps"]) == (True, 90)


@pytest.mark.long
def test_trains_with_our_batch_script(by_script: Job) -> None:
    assert_trained(by_script, "script")
    output = (by_script.folder / "out").read_text()
    assert "launcher script (the environment holds HCCL_KIT_RUN_ID=slurm-" in output
    assert ": rank 0 of 2 on CPU" in output


@pytest.mark.long
def test_trains_with_plain_srun(job: Job, by_script: Job, lab: Cluster) -> None:
    command = ["srun", "-N2", "-n2", "-K1", CPUS, *job.train(*LONG)]
    done = lab.run(command, folder=job.folder, environ=ENVIRON, seconds=PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert_trained(job, "srun")
    assert job.summary["parameters_sha256"] == by_script.summary["parameters_sha256"]
    log = (job.folder / "run" / "log_1.txt").read_text(encoding="utf-8")
    assert "launcher srun (the environment holds SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2)" in log


@pytest.mark.long
def test_hccl_kit_restarts_in_the_allocation_from_the_checkpoint(job: Job, by_script: Job, lab: Cluster) -> None:
    number = submit(job, lab, path=lab.environ["PATH"], max_restarts="1")
    assert wait_until(lambda: step_of(job) >= 8)
    os.kill(job.process_of_rank(1), signal.SIGKILL)
    assert lab.exit_code(number, PATIENCE) == 0, (job.folder / "out").read_text()
    output = (job.folder / "out").read_text()
    assert "error: rank 1 on device 0 of n1 failed with exit code 137 (SIGKILL)\n" in output
    assert f"restart 1: resumed from {job.folder}/run/train_resume.ckpt after step " in output
    assert lab.about(number)["Restarts"] == "0"
    assert_trained(job, "script")
    assert job.summary["parameters_sha256"] == by_script.summary["parameters_sha256"]


@pytest.mark.long
def test_a_requeued_job_resumes_from_its_checkpoint(job: Job, by_script: Job, lab: Cluster) -> None:
    number = submit(job, lab)
    assert wait_until(lambda: step_of(job) >= 8)
    done = lab.run(["scontrol", "requeue", number])
    assert done.returncode == 0, done.stderr
    assert lab.exit_code(number, PATIENCE) == 0, (job.folder / "out").read_text()
    assert f"restart 1: resumed from {job.folder}/run/train_resume.ckpt after step " in (job.folder / "out").read_text()
    assert_trained(job, "script")
    assert job.summary["parameters_sha256"] == by_script.summary["parameters_sha256"]


@pytest.mark.long
def test_a_job_near_its_time_limit_saves_and_resumes_from_there(job: Job, by_script: Job, lab: Cluster) -> None:
    number = submit(job, lab, signal="USR2@60", max_restarts="1")
    assert wait_until(lambda: step_of(job) >= 8)
    lab.run(["scancel", "--batch", "--signal=USR2", number])
    assert lab.exit_code(number, PATIENCE) == 0, (job.folder / "out").read_text()
    output = (job.folder / "out").read_text()
    assert " by SIGUSR2; continue with -o system.resume=auto\n" in output
    assert f"restart 1: resumed from {job.folder}/run/train_resume.ckpt after step " in output
    assert_trained(job, "script")
    assert job.summary["parameters_sha256"] == by_script.summary["parameters_sha256"]
