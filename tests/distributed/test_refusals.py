"""Inconsistent jobs end at once with exit code 2 and the reason; a job that loses a rank ends on all ranks."""

import shutil
import signal
import socket
from collections.abc import Iterator
from os import kill

import pytest

from tests.distributed.jobs import Job, torch_names
from tests.distributed.test_ways import MPIRUN, needs_mpirun
from tests.ports import free_port
from tests.waiting import wait_until

pytestmark = pytest.mark.train

DIFFERENT = "has another configuration than rank 0"
REMEDY = "  fix: start all ranks with the same --config, -o options and files"


def test_two_ranks_without_data_parallel_are_refused(job: Job) -> None:
    done = job.run(job.script("system.distribute=False"))
    assert done.returncode == 2
    assert "error: 2 ranks were started (the environment holds HCCL_KIT_RUN_ID=" in done.stderr
    assert "but system.distribute is False: each rank would train its own network" in done.stderr


@needs_mpirun
def test_ranks_of_mpirun_with_different_configurations_are_refused(job: Job) -> None:
    one, other = (["-n", "1", *job.train(f"system.seed={seed}")] for seed in (1, 2))
    done = job.run([*MPIRUN, *one, ":", *other])
    assert done.returncode == 2
    assert f"error: rank 1 on {socket.gethostname()} {DIFFERENT} on {socket.gethostname()}" in done.stderr
    assert REMEDY in done.stderr


@pytest.fixture
def results(job: Job) -> Iterator[None]:
    """The folder of the job holds results of an earlier one; the test must leave them where they are."""
    (job.folder / "run").mkdir()
    names = ("best.ckpt", "train_resume.ckpt", "metrics.jsonl", "log_0.txt", "log_1.txt")
    for name in names:
        (job.folder / "run" / name).write_text("of the earlier job")
    yield
    found = {path.name: path.read_text() for path in (job.folder / "run").iterdir() if path.name != ".new_run"}
    assert found == dict.fromkeys(names, "of the earlier job")


@pytest.mark.usefixtures("results")
def test_plain_ranks_with_different_configurations_are_refused(job: Job) -> None:
    port = free_port()
    ranks = [job.start(job.train(f"system.seed={rank}"), torch_names(rank, port)) for rank in range(2)]
    for done in [job.finish(rank) for rank in ranks]:
        assert done.returncode == 2, done.stderr
        assert f"error: rank 1 {DIFFERENT} (1 of 2 ranks differ)\n{REMEDY}" in done.stderr


@pytest.mark.long
@pytest.mark.usefixtures("results")
def test_a_rank_that_cannot_start_alone_keeps_the_others_from_moving_results(job: Job) -> None:
    """Its server lacks the images: no other rank knows it."""
    port = free_port()
    ranks = []
    for rank in range(2):
        place = job.folder / f"server{rank}"
        shutil.copytree(job.words, place / "words")
        if rank:
            shutil.rmtree(place / "words" / "train")
            (place / "words" / "train").mkdir()
        command = job.train("train.dataset.dataset_root=words")
        ranks.append(job.start(command, torch_names(rank, port), cwd=place))
    done = job.finish(ranks[1])
    assert done.returncode == 2, done.stderr
    assert "no sample of a whole batch can be used" in done.stderr
    ranks[0].terminate()
    assert job.finish(ranks[0]).returncode in (2, 143)


@pytest.mark.long
@pytest.mark.usefixtures("results")
def test_ranks_with_different_data_are_refused(job: Job) -> None:
    """A server has an older copy of the file that the configuration names."""
    port = free_port()
    ranks = []
    for rank in range(2):
        place = job.folder / f"server{rank}"
        place.mkdir()
        shutil.copytree(job.words, place / "words")
        labels = place / "words" / "train_gt.txt"
        labels.write_text("".join(labels.read_text().splitlines(keepends=True)[rank:]))
        command = job.train("train.dataset.dataset_root=words")
        ranks.append(job.start(command, torch_names(rank, port), cwd=place))
    for done in [job.finish(rank) for rank in ranks]:
        assert done.returncode == 2, done.stderr
        message = "rank 1 has another data set in train.dataset than rank 0: 95 samples and 96 samples (1 of 2 ranks"
        assert message in done.stderr
        assert "fix: all servers need the same files" in done.stderr


def test_a_port_in_use_is_named(job: Job) -> None:
    with socket.create_server(("", 0)) as taken:
        port = taken.getsockname()[1]
        done = job.run(job.train(), torch_names(0, port))
    assert done.returncode == 2
    assert f"error: port {port} on this host cannot be used for the rendezvous: Address already in use" in done.stderr
    assert "export MASTER_PORT=<a free port> for all ranks" in done.stderr


@pytest.mark.long
def test_a_killed_rank_ends_the_job(job: Job) -> None:
    process = job.start(job.script("train.max_steps=null", "scheduler.num_epochs=100000"))
    log = job.folder / "run" / "log_0.txt"
    assert wait_until(lambda: log.exists() and "step 3/" in log.read_text(encoding="utf-8"))
    kill(job.process_of_rank(1), signal.SIGKILL)
    done = job.finish(process)
    assert done.returncode == 137
    assert "error: rank 1 on card 1 failed with exit code 137 (SIGKILL)" in done.stderr
    assert list(job.processes()) == []
