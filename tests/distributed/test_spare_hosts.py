"""Training that loses one of its two hosts continues on a spare, with the parameters of an undisturbed run."""

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from hccl_kit.base.own_program import own_program
from hccl_kit.table import formats
from hccl_kit.table.hosts import Card, Host
from hccl_kit.table.model import RankTable
from hccl_kit.table.operations.generate import generate_cluster
from tests.distributed.jobs import Job
from tests.lab.hosts import Hosts, hosts, needs_hosts
from tests.launch.jobs import TABLE, clean_environ
from tests.launch.spare_jobs import CRASH, lose
from tests.ocr.run_tool import OURS
from tests.places import ROOT
from tests.waiting import wait_until

pytestmark = [pytest.mark.train, needs_hosts]

STEPS = ("train.max_steps=30", "train.resume_interval_steps=4")
PATIENCE = 600.0


def two_servers(addresses: Sequence[str]) -> RankTable:
    """One rank on each of the first two hosts."""
    hosts_of_ranks = [Host(address, {0: Card(f"192.0.2.{number}")}) for number, address in enumerate(addresses[:2], 1)]
    return generate_cluster(hosts_of_ranks, version="1.0")


def step_of(folder: Path) -> int:
    """The furthest step of either rank in the first attempt."""
    files = [path for path in folder.glob("hccl_logs/latest/step_[01]") if path.stat().st_size]
    return max((int(path.read_text() or 0) for path in files), default=0)


def begin(job: Job, lab: Hosts) -> "subprocess.Popen[bytes]":
    """Train on the first two hosts; the third is a spare."""
    table = two_servers(lab.addresses)
    (job.folder / TABLE).write_text(formats.write(table), encoding="utf-8")
    (job.folder / "spares.yaml").write_text("".join(f"{name}: {{0: 192.0.2.200}}\n" for name in lab.addresses[2:]))
    options = ("--ssh", "--spares", ",".join(lab.addresses[2:]), "--inventory", "spares.yaml")
    variables = {"PYTHONPATH": str(ROOT), "PWD": str(job.folder), "HCCL_KIT_SSH": f"ssh -F {lab.ssh_config}"}
    environ = {name: value for name, value in clean_environ(variables).items() if name not in OURS}
    with (job.folder / "screen").open("w") as screen:
        return subprocess.Popen(
            own_program("hccl_kit", "run", TABLE, *options, "--", *job.train(*STEPS)),
            cwd=job.folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=screen,
            stderr=screen,
            start_new_session=True,
        )


def end(job: Job, process: "subprocess.Popen[bytes]") -> str:
    """The output of a job, which must succeed."""
    code = process.wait(timeout=PATIENCE)
    printed = (job.folder / "screen").read_text(encoding="utf-8")
    assert code == 0, printed
    return printed


@pytest.mark.long
def test_a_job_with_a_spare_host_has_the_parameters_of_the_undisturbed_run(
    job: Job, new_job: Callable[[], Job]
) -> None:
    """Both runs have one rank per host: the number of threads of a rank changes the last bits of its sums."""
    undisturbed = new_job()
    with hosts(3) as lab:
        end(undisturbed, begin(undisturbed, lab))
        process = begin(job, lab)
        assert wait_until(lambda: step_of(job.folder) >= 6 or process.poll() is not None, seconds=PATIENCE)
        lose(lab, 1, CRASH)
        printed = end(job, process)
    assert f"spare {lab.addresses[2]} takes the place of server {lab.addresses[1]}; left: none\n" in printed
    assert "restart 1: resumed from " in printed
    assert job.summary["steps"] == 30
    assert job.summary["parameters_sha256"] == undisturbed.summary["parameters_sha256"]
