"""Every launcher of two ranks trains the same network, bit for bit, and ends with exit code 0."""

import sys
from pathlib import Path

import pytest

from tests.distributed.jobs import Job, torch_names
from tests.places import AS_ROOT
from tests.ports import free_port

pytestmark = pytest.mark.train

HERE = Path(sys.executable).parent
MPIRUN = [str(HERE / "mpirun"), *AS_ROOT, "--oversubscribe", "--bind-to", "none"]
needs_mpirun = pytest.mark.skipif(not Path(MPIRUN[0]).exists(), reason="needs the extra mpi, which brings mpirun")

LOOP = """\
export DEVICE_NUM=8
export RANK_SIZE=2
export RANK_TABLE_FILE="$1"
shift
for ((i = 0; i < RANK_SIZE; i++)); do
    export DEVICE_ID=$i
    export RANK_ID=$i
    "$@" &
    ranks+=($!)
done
for rank in "${ranks[@]}"; do
    wait "$rank" || exit
done
"""
"""The loop of the tutorials, including its wrong DEVICE_NUM."""


def assert_same(job: Job, two_ranks: Job, launcher: str) -> None:
    assert (job.summary["launcher"], job.summary["world_size"]) == (launcher, 2)
    assert job.summary["ranks_equal"] is True
    assert job.summary["parameters_sha256"] == two_ranks.summary["parameters_sha256"]


def test_the_script_of_hccl_gen(two_ranks: Job) -> None:
    assert_same(two_ranks, two_ranks, "script")
    for rank in range(2):
        log = (two_ranks.folder / "run" / f"log_{rank}.txt").read_text(encoding="utf-8")
        assert "launcher script (the environment holds HCCL_KIT_RUN_ID=" in log  # detection always logs its choice
        assert f": rank {rank} of 2 on CPU" in log
        assert "all-reduce of gradients: memory" in log


def test_the_all_reduce_of_the_framework(job: Job, two_ranks: Job) -> None:
    _, script = job.script("parallel.strategy=framework")
    done = job.run(["bash", script])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all-reduce of gradients: framework" in (job.folder / "run" / "log_0.txt").read_text(encoding="utf-8")
    assert_same(job, two_ranks, "script")


@needs_mpirun
def test_mpirun(job: Job, two_ranks: Job) -> None:
    done = job.run([*MPIRUN, "-n", "2", *job.train()])
    assert done.returncode == 0, done.stdout + done.stderr
    assert_same(job, two_ranks, "mpirun")


@pytest.mark.long
def test_the_hand_written_loop_of_the_tutorials(job: Job, two_ranks: Job) -> None:
    _, script = job.script()
    (table,) = job.folder.glob("hccl_2p_01_*.json")
    loop = Path(script).with_name("loop.sh")
    loop.write_text(LOOP)
    done = job.run(["bash", loop, table, *job.train()])
    assert done.returncode == 0, done.stdout + done.stderr
    assert_same(job, two_ranks, "loop")


@pytest.mark.long
def test_torch_names_that_are_exported_by_hand(job: Job, two_ranks: Job) -> None:
    port = free_port()
    ranks = [job.start(job.train(), torch_names(rank, port)) for rank in range(2)]
    for done in [job.finish(rank) for rank in ranks]:
        assert done.returncode == 0, done.stdout + done.stderr
    assert_same(job, two_ranks, "torchrun")


@pytest.mark.long
def test_msrun(job: Job, two_ranks: Job) -> None:
    ports = ["--master_port", str(free_port()), "--log_dir", str(job.folder / "msrun")]
    _, *program = job.train()
    done = job.run(
        [HERE / "msrun", "--worker_num", "2", "--local_worker_num", "2", "--join", "True", *ports, *program[1:]]
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert_same(job, two_ranks, "msrun")
