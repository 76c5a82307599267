"""No rank leaves before all are done: who goes early takes along what another still waits for (30 s, then an error)."""

import os
import signal
import sys

import pytest

from tests.distributed.jobs import Job, free_port, torch_names
from tests.launch.jobs import wait_until

pytestmark = pytest.mark.train

PROGRAM = """
import os, sys, time
from hccl_kit.ocr.program import leave
from hccl_kit.world import detect, join, prepare
os.environ["GLOG_v"] = "3"
import mindspore
mindspore.set_device("CPU")
launch = detect(os.environ)
world = join(launch, prepare(launch, "", os.environ), "CPU")
late, code = world.rank == int(sys.argv[1]), int(sys.argv[2])
world.barrier()
time.sleep(2 * late)
print("late" if late else "early", time.time(), flush=True)
leave(late * code, world)
"""


@pytest.mark.parametrize(
    ("late", "code"),
    [pytest.param(1, 0, id="late"), pytest.param(0, 3, id="late-and-failing", marks=pytest.mark.long)],
)
def test_the_early_rank_waits_for_the_late_one(job: Job, late: int, code: int) -> None:
    port = free_port()
    program = [sys.executable, "-c", PROGRAM, str(late), str(code), str(job.folder)]
    ranks = [job.start(program, torch_names(rank, port)) for rank in range(2)]
    assert ranks[1 - late].stdout.readline().startswith("early")  # type: ignore[union-attr]  # it is a pipe
    with pytest.raises(Exception, match="timed out after 1"):
        ranks[1 - late].wait(timeout=1)
    ended = [job.finish(rank, seconds=60).returncode for rank in ranks]
    assert ended[1 - late] == 0
    assert ended[late] == code


def test_usr1_shows_where_a_rank_stands_and_the_training_goes_on(job: Job) -> None:
    """What the launch script sends to ranks that hang; MindSpore's own handlers are loaded by then."""
    process = job.start(job.script("train.max_steps=null", "scheduler.num_epochs=100000"))
    latest = job.folder / "hccl_logs" / "latest"
    beats = [latest / f"step_{rank}" for rank in range(2)]
    assert wait_until(lambda: all(file.exists() for file in beats), seconds=60)
    os.kill(job.process_of_rank(1), signal.SIGUSR1)
    log = latest / "rank_1.log"
    assert wait_until(lambda: "loop.py" in log.read_text(encoding="utf-8"), seconds=20)
    before = [int(file.read_text()) for file in beats]
    assert wait_until(
        lambda: all(int(file.read_text() or 0) > 1 + step for file, step in zip(beats, before, strict=True))
    )
    process.terminate()
    assert job.finish(process, seconds=20).returncode == 143
