"""A restarted job ends with the parameters of the undisturbed one, bit for bit."""

import json
import os
import random
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hccl_kit.runtime.worker_env import RESTART
from tests.distributed.jobs import DUMP, Job, torch_names
from tests.distributed.test_parameters import difference, parameters
from tests.ports import free_port
from tests.waiting import wait_until

pytestmark = pytest.mark.train

LONG = ("train.max_steps=48", "train.resume_interval_steps=4")
"""Eight epochs of six steps with two ranks; checkpoints within epochs, and (configured) at every third."""


@pytest.fixture(scope="module")
def undisturbed(new_job: Callable[[], Job]) -> Job:
    made = new_job()
    done = made.run(made.script(*LONG, program=DUMP))
    assert done.returncode == 0, done.stdout + done.stderr
    return made


def step_of(job: Job) -> int:
    """The last step that both ranks have finished, according to their heartbeats; 0 before the first."""
    files = {file.resolve() for file in job.folder.glob("hccl_logs/*/step_[01]")}  # "latest" links to the same folder
    return min((int(file.read_text() or 0) for file in files), default=0) if len(files) == 2 else 0


def kill_at(job: Job, command: list[str | Path], step: int, rank: int) -> None:
    """Start the job and kill that rank with SIGKILL once both have finished `step`."""
    process = job.start(command)
    assert wait_until(lambda: step_of(job) >= step or process.poll() is not None)
    os.kill(job.process_of_rank(rank), signal.SIGKILL)
    done = job.finish(process)
    assert done.returncode == 137, done.stdout + done.stderr


def assert_same(job: Job, undisturbed: Job) -> None:
    for rank in range(2):
        one, other = (parameters(made, "after", rank) for made in (job, undisturbed))
        assert max(difference(one, other).values()) == 0
        assert all(one[name].tobytes() == other[name].tobytes() for name in one)
    assert job.summary["parameters_sha256"] == undisturbed.summary["parameters_sha256"]
    assert job.summary["steps"] == 48


def steps_in_metrics(job: Job) -> list[int]:
    lines = (job.folder / "run" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [row["step"] for row in map(json.loads, lines) if "loss" in row]


@pytest.mark.long
@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_job_resumes_from_its_checkpoint(job: Job, undisturbed: Job, rank: int) -> None:
    script = job.script(*LONG, program=DUMP)
    step = random.randint(5, 20)
    kill_at(job, script, step, rank)
    checkpoint = job.folder / "run" / "train_resume.ckpt"
    assert checkpoint.exists()
    again = job.run(script, {RESTART: "1"})
    assert again.returncode == 0, again.stdout + again.stderr
    assert f"restart 1: resumed from {checkpoint} after step " in again.stdout, step
    assert_same(job, undisturbed)
    assert steps_in_metrics(job) == list(range(1, 49))


@pytest.mark.long
def test_a_damaged_checkpoint_is_skipped_and_the_previous_one_used(job: Job, undisturbed: Job) -> None:
    script = job.script(*LONG, program=DUMP)
    kill_at(job, script, 9, 1)
    last, previous = (job.folder / "run" / f"train_resume{infix}.ckpt" for infix in ("", ".prev"))
    os.truncate(last, last.stat().st_size // 2)
    again = job.run(script, {RESTART: "1"})
    assert again.returncode == 0, again.stdout + again.stderr
    assert f"warning: the checkpoint {last} is damaged" in again.stdout
    assert f"restart 1: resumed from {previous} after step " in again.stdout
    assert_same(job, undisturbed)


@pytest.mark.long
def test_a_restart_without_a_checkpoint_starts_from_scratch(job: Job, undisturbed: Job) -> None:
    done = job.run(job.script(*LONG, program=DUMP), {RESTART: "1"})
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no checkpoint to resume from: starting at step 0" in done.stdout
    assert_same(job, undisturbed)


@pytest.mark.long
def test_a_restart_with_another_configuration_is_refused_on_every_rank(job: Job, undisturbed: Job) -> None:
    shutil.copytree(undisturbed.folder / "run", job.folder / "run")
    done = job.run(job.script(*LONG, program=DUMP), {RESTART: "1"})  # another ckpt_save_dir
    assert done.returncode == 2, done.stdout + done.stderr
    checkpoint = job.folder / "run" / "train_resume.ckpt"
    message = f"error: {checkpoint} was written with another configuration or number of ranks than this restart has"
    assert message in done.stderr
    (logs,) = {path.resolve() for path in job.folder.glob("hccl_logs/*")}
    for rank in range(2):
        assert message in (logs / f"rank_{rank}.log").read_text(encoding="utf-8")


@pytest.mark.long
def test_a_finished_job_that_is_restarted_has_the_same_result(undisturbed: Job) -> None:
    """Such as after a rank has died in the last evaluation."""
    done = undisturbed.run(["bash", undisturbed.folder / "ascend2p.sh"], {RESTART: "2"})
    assert done.returncode == 0, done.stdout + done.stderr
    assert "restart 2: resumed from" in done.stdout
    for rank in range(2):
        before, after = (parameters(undisturbed, when, rank) for when in ("before", "after"))
        assert all(np.array_equal(before[name], after[name]) for name in before)


@pytest.mark.long
def test_only_rank_0_needs_the_checkpoint(job: Job) -> None:
    """Two ranks with separate folders, as on hosts without a shared disk."""
    straight = trained_apart(job, "straight", "train.max_steps=10")
    trained_apart(job, "parts", "train.max_steps=5")
    resumed = trained_apart(job, "parts", "train.max_steps=10", "system.resume=True")
    assert list(job.folder.glob("parts_1/**/*.ckpt")) == []
    assert resumed["parameters_sha256"] == straight["parameters_sha256"]
    assert (resumed["ranks_equal"], resumed["steps"]) == (True, 10)


def trained_apart(job: Job, name: str, *overrides: str) -> dict[str, Any]:
    """The summary of two ranks that run in separate folders and write into `run` there."""
    ranks, port = [], free_port()
    for rank in range(2):
        folder = job.folder / f"{name}_{rank}"
        folder.mkdir(exist_ok=True)
        command = ["env", "-C", str(folder), *job.train("train.ckpt_save_dir=run", *overrides)]
        ranks.append(job.start(command, torch_names(rank, port)))
    for done in [job.finish(rank) for rank in ranks]:
        assert done.returncode == 0, done.stdout + done.stderr
    values: dict[str, Any] = json.loads((job.folder / f"{name}_0" / "run" / "summary.json").read_text(encoding="utf-8"))
    return values
