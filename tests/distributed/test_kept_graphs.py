"""Restarted ranks reuse the graphs of their previous start: they compile none, and train the same network."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from hccl_kit.ocr.checkpoints.fetch import CACHE
from hccl_kit.runtime.worker_env import RESTART
from tests.distributed.jobs import DUMP, Job
from tests.distributed.test_parameters import parameters
from tests.distributed.test_ways import MPIRUN, needs_mpirun

pytestmark = [pytest.mark.train, pytest.mark.long]

SHORT = ("train.max_steps=10", "train.resume_interval_steps=5", "system.val_while_train=False")
TAKEN = "compiled graphs are taken from"


def started(job: Job, way: str, *overrides: str, **environ: str) -> None:
    """Starts the job with a separate cache folder."""
    options = (*SHORT, *overrides)
    for earlier in job.folder.glob("ascend*"):
        earlier.unlink()  # hccl-gen overwrites no script with another one
    command: Sequence[str | Path] = job.script(*options, program=DUMP)
    if way == "mpirun":
        command = [*MPIRUN, "-n", "2", *job.train(*options, program=DUMP)]
    done = job.run(command, {CACHE: str(job.folder / "cache"), **environ})
    assert done.returncode == 0, done.stdout + done.stderr


def took(job: Job) -> list[int]:
    """How often each rank has reused graphs, according to its log."""
    logs = [job.folder / "run" / f"log_{rank}.txt" for rank in range(2)]
    return [log.read_text(encoding="utf-8").count(TAKEN) for log in logs]


def written(job: Job) -> dict[Path, int]:
    """The graphs of all ranks, and when each was written: a graph is written whenever it is compiled."""
    return {path: path.stat().st_mtime_ns for path in (job.folder / "cache" / "graphs").glob("*/*")}


def digests(job: Job) -> list[str]:
    """Of all parameters, one for each rank."""
    found: list[str] = job.summary["parameters_sha256"]
    return found


def cleared(job: Job) -> None:
    """Removes all results of the previous start, except the cache."""
    shutil.rmtree(job.folder / "run")
    shutil.rmtree(job.folder / "hccl_logs", ignore_errors=True)


@pytest.mark.parametrize("way", ["script", pytest.param("mpirun", marks=needs_mpirun)])
def test_the_second_start_and_a_resumed_one_compile_nothing(job: Job, two_ranks: Job, way: str) -> None:
    started(job, way)
    assert (took(job), digests(job)) == ([0, 0], digests(two_ranks))
    graphs = written(job)
    assert len({path.parent for path in graphs}) == 2

    cleared(job)
    started(job, way)
    assert (took(job), digests(job)) == ([1, 1], digests(two_ranks))
    assert written(job) == graphs

    cleared(job)
    started(job, way, "train.max_steps=5")  # no graph depends on the number of steps
    started(job, way, "system.resume=auto")  # which appends to the logs
    assert (took(job), digests(job)) == ([2, 2], digests(two_ranks))
    assert written(job) == graphs
    for rank in range(2):
        one, other = (parameters(made, "after", rank) for made in (job, two_ranks))
        assert all(np.array_equal(one[name], other[name]) for name in other)


def test_a_restarted_rank_reuses_graphs_and_recompiles_a_damaged_one(job: Job, two_ranks: Job) -> None:
    started(job, "script")
    graphs = written(job)
    cleared(job)
    started(job, "script", **{RESTART: "1"})
    assert (took(job), digests(job), written(job)) == ([1, 1], digests(two_ranks), graphs)

    cleared(job)
    damaged = next(iter(graphs))
    damaged.write_bytes(b"not a graph")
    started(job, "script")
    assert (took(job), digests(job)) == ([1, 1], digests(two_ranks))
    new = written(job)
    assert {path for path in new if new[path] != graphs[path]} == {damaged}
