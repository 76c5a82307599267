"""Two ranks that start from weights print one table, draw one picture, and have the scores of a single process."""

import json
from collections.abc import Callable
from typing import Any

import cv2
import pytest

from hccl_kit.ocr.drawing import HEADER, ROW
from tests.distributed.jobs import Job

pytestmark = pytest.mark.train


def evaluations(job: Job) -> dict[int, dict[str, Any]]:
    rows = map(json.loads, (job.folder / "run" / "metrics.jsonl").read_text(encoding="utf-8").splitlines())
    scores = [row for row in rows if "loss" not in row]
    assert len({row["step"] for row in scores}) == len(scores)
    return {row["step"]: row for row in scores}


@pytest.mark.long
def test_the_picture_shows_the_misread_lines_of_both_ranks(two_ranks: Job) -> None:
    wrong = two_ranks.summary["words"] - two_ranks.summary["right"]
    assert wrong > two_ranks.summary["words"] / 2, "more than one rank has"
    assert len(cv2.imread(str(two_ranks.folder / "run" / "worst_lines.png"))) == HEADER + wrong * ROW


@pytest.mark.long
def test_two_ranks_have_the_scores_of_one_process_also_after_a_resume(
    two_ranks: Job, new_job: Callable[[], Job]
) -> None:
    weights = two_ranks.folder / "run" / "best.ckpt"
    tuning = (f"model.pretrained={weights}", "system.val_before_train=True")
    one, two = new_job(), new_job()
    for job, command in (
        (one, one.train(*tuning, "train.max_steps=2", "train.loader.batch_size=16")),
        (two, two.script(*tuning, "train.max_steps=2")),
    ):
        done = job.run(command)
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.count("    before      best      last") == 1
    for name, value in one.summary["before"].items():
        assert two.summary["before"][name] == pytest.approx(value, abs=1e-6)
    for name in ("run/worst_lines.png", "ascend2p.sh"):
        (two.folder / name).unlink()
    before = two.summary["before"]
    done = two.run(two.script(*tuning, "train.max_steps=4", "system.resume=True"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert two.summary["before"] == before
    assert two.summary["ranks_equal"] is True
    assert list(evaluations(two)) == [0, 2, 4]
    assert done.stdout.count("    before      best      last") == 1
    assert (two.folder / "run" / "worst_lines.png").is_file()
