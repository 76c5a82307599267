"""A real training of two ranks, of which one is slow: it is named in the log, in summary.json and by hccl-kit watch."""

import json
import sys
from pathlib import Path

import pytest

from tests.distributed.jobs import Job

pytestmark = pytest.mark.train

PROGRAM = Path(__file__).parent / "slow.py"
WATCH = [sys.executable, "-m", "hccl_kit.cli.kit", "watch"]


@pytest.mark.long  # tests/cli/test_watch.py always runs a job with a slow rank
def test_the_slow_rank_is_named(tmp_path: Path, words: Path) -> None:
    job = Job(tmp_path, words)
    script = job.script("train.max_steps=32", "system.val_while_train=False", program=PROGRAM)
    done = job.finish(job.start(script, {"SLOW": "4"}), 1200)
    assert done.returncode == 0, done.stdout + done.stderr

    found = job.summary["straggler"]
    assert (found["rank"], found["part"], found["since_step"], found["until_step"]) == (1, "compute", 2, None)
    assert found["own_s"] > 1.1 * found["others_s"]
    warnings = [line for line in done.stdout.splitlines() if "slows down the others" in line]
    assert len(warnings) == 1
    assert warnings[0].startswith("warning: rank 1 slows down the others since step 2, by its compute: ")
    assert "slows down the others" in (tmp_path / "run" / "log_1.txt").read_text()

    seen = job.run([*WATCH, "--once", "--format", "json"])
    told = json.loads(seen.stdout)
    assert (seen.returncode, told["state"], told["ok"]) == (1, "done", False), seen.stderr
    assert (told["straggler"]["rank"], told["straggler"]["part"]) == (1, "compute")
    assert [rank["step"] for rank in told["ranks"]] == [32, 32]
    assert all(rank["loss"] > 0 and rank["memory"] > 1 << 26 for rank in told["ranks"])

    folder = job.run([*WATCH, str(tmp_path / "run"), "--once"])
    assert folder.returncode == 1
    assert "rank 1 slows down the others since step 2, by its compute" in folder.stdout


@pytest.mark.long
def test_one_window_is_not_enough_for_a_verdict(tmp_path: Path, words: Path) -> None:
    job = Job(tmp_path, words)
    script = job.script("train.max_steps=12", "system.val_while_train=False", program=PROGRAM)
    done = job.finish(job.start(script, {"SLOW": "4"}), 1200)
    assert done.returncode == 0, done.stdout + done.stderr
    assert job.summary["straggler"] is None
