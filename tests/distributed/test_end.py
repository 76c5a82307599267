"""No rank exits before all are done: peers may still wait for a rank that exits early (30 s, then an error)."""

import os
import signal
import sys
from collections.abc import Sequence

import pytest

from tests.distributed.jobs import Job, torch_names
from tests.distributed.test_ways import MPIRUN, needs_mpirun
from tests.ports import free_port
from tests.waiting import wait_until

pytestmark = pytest.mark.train

PROGRAM = """
import os, sys, time
from hccl_kit.ocr.run.program import leave
from hccl_kit.runtime.detect import detect
from hccl_kit.runtime.join import join, prepare
os.environ["GLOG_v"] = "3"
import mindspore
mindspore.set_device("CPU")
launch = detect(os.environ)
world = join(launch, prepare(launch, "", os.environ), "CPU")
late, code = world.rank == int(sys.argv[1]), int(sys.argv[2])
world.share("")
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
    ended = [job.finish(rank).returncode for rank in ranks]
    assert ended[1 - late] == 0
    assert ended[late] == code


@pytest.mark.long
def test_sigusr1_prints_the_stacks_and_the_training_continues(job: Job) -> None:
    """The launch script sends SIGUSR1 to ranks that hang; MindSpore has installed its own handlers by then."""
    process = job.start(job.script("train.max_steps=null", "scheduler.num_epochs=100000"))
    latest = job.folder / "hccl_logs" / "latest"
    beats = [latest / f"step_{rank}" for rank in range(2)]
    assert wait_until(lambda: all(file.exists() for file in beats))
    os.kill(job.process_of_rank(1), signal.SIGUSR1)
    log = latest / "rank_1.log"
    assert wait_until(lambda: "loop.py" in log.read_text(encoding="utf-8"))
    before = [int(file.read_text()) for file in beats]
    assert wait_until(
        lambda: all(int(file.read_text() or 0) > 1 + step for file, step in zip(beats, before, strict=True))
    )
    process.terminate()
    assert job.finish(process).returncode == 143


ENDLESS = ("train.max_steps=null", "scheduler.num_epochs=100000")


def supervised(ranks: Sequence[str], *options: str) -> list[str]:
    """The command that starts two ranks under the agent."""
    return [sys.executable, "-m", "hccl_kit", "run", "--devices", "[0,2)", "--simulate", *options, "--", *ranks]


@pytest.mark.long  # tests/ocr/test_interrupt.py has one process
def test_ctrl_c_prints_how_to_continue_and_leaves_no_dump(job: Job) -> None:
    """The agent forwards SIGINT to its ranks, which are in their steps."""
    process = job.start(supervised(job.train(*ENDLESS)))
    beats = [job.folder / "hccl_logs" / "latest" / f"step_{rank}" for rank in range(2)]
    assert wait_until(lambda: all(file.exists() for file in beats))
    process.send_signal(signal.SIGINT)
    done = job.finish(process)
    assert done.returncode == 130
    assert "interrupted; continue with -o system.resume=auto\n" in done.stdout
    assert "rank_0" not in {path.name for path in job.folder.iterdir()}
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.long
@needs_mpirun
def test_ctrl_c_on_mpirun_leaves_no_dump(job: Job) -> None:
    """mpirun ends its ranks with SIGTERM, shows no further output of them and has its own exit code."""
    command = [*MPIRUN, "-n", "2", *job.train(*ENDLESS)]
    process = job.start(command, {"HCCL_KIT_LOG_DIR": str(job.folder)})
    assert wait_until(lambda: all((job.folder / f"step_{rank}").exists() for rank in range(2)))
    process.send_signal(signal.SIGINT)
    done = job.finish(process)
    assert done.returncode not in (0, 2)
    assert "rank_0" not in {path.name for path in job.folder.iterdir()}
    assert not [path for path in (job.folder / "run").iterdir() if path.name.startswith(".")]


@pytest.mark.long
def test_a_temporarily_full_disk_costs_one_restart(job: Job) -> None:
    """The first start cannot write a file as large as its checkpoint after step 5; the second can."""
    once = 'if mkdir "$0/started_$RANK" 2>/dev/null; then ulimit -f 1024; fi; exec "$@"'
    ranks = ["bash", "-c", once, str(job.folder), *job.train("train.resume_interval_steps=5")]
    done = job.run(supervised(ranks, "--max-restarts", "1"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"error: cannot write the checkpoint {job.folder / 'run' / 'train_resume.ckpt'}: " in done.stderr
    assert "restart 1 of 1" in done.stderr
    assert job.summary["steps"] == 10
