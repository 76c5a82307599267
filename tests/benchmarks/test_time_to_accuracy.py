"""The time to 95 %: parsing of the logs of both sides, and that both print what is parsed."""

import importlib.util
import sys
from pathlib import Path

import pytest

from benchmarks import time_to_accuracy
from benchmarks.time_to_accuracy import (
    CONFIG,
    Course,
    Evaluation,
    Line,
    course,
    drawn,
    lines_until_goal,
    ours,
    recipe,
    theirs,
)
from benchmarks.train_step import LAYOUTS
from hccl_kit.ocr import config as configuration

LINES = [
    Line("744 samples, 46 steps an epoch, 138 steps in all, 153733 parameters to train\n", 1.0, 2.0),
    Line("evaluation after step 0: 0 of 20 words right (0.00%), the best so far, 0.5 s\n", 2.0, 4.0),
    Line("step 46/138 epoch 0 loss 17.1\n", 3.5, 7.0),
    Line("evaluation after step 46: 18 of 20 words right (90.00%), the best so far, 0.5 s\n", 4.0, 8.0),
    Line("evaluation after step 92: 19 of 20 words right (95.00%), the best so far, 0.5 s\n", 6.0, 12.0),
    Line("evaluation after step 138: 20 of 20 words right (100.00%), the best so far, 0.5 s\n", 8.0, 16.0),
]


def test_parses_a_log() -> None:
    found = course(LINES)
    assert found.parameters == 153733
    assert [evaluation.share for evaluation in found.evaluations] == [0, 0.9, 0.95, 1]
    assert found.reached == Evaluation(92, 0.95, 6.0, 12.0)
    assert (found.in_all, found.processor) == (6.0, 12.0)
    assert found.training == 6.0 - 2.0


def test_a_program_is_stopped_at_the_goal() -> None:
    said = "".join(line.text for line in LINES)
    lines = lines_until_goal([sys.executable, "-c", f"print({said!r}, flush=True)\nimport time\ntime.sleep(600)"])
    assert [line.text for line in lines] == [line.text for line in LINES[:5]]
    assert lines_until_goal([sys.executable, "-c", "print(input())"], "given")[0].text == "given\n"
    with pytest.raises(SystemExit, match=r"failed: .*python.* -c 0/0"):
        lines_until_goal([sys.executable, "-c", "0/0"])


def test_a_training_that_misses_the_goal_is_an_error() -> None:
    with pytest.raises(SystemExit, match=r"read 90\.0% of the test words at best, not 95%"):
        _ = course(LINES[:4]).reached


def test_the_recipe_is_that_of_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "train_gt.txt").write_text("a.png\ta\n" * 40, encoding="utf-8")
    found = recipe(configuration.load(CONFIG), tmp_path, 7, "channels_last")
    assert (found["batch"], found["seed"], found["weight_decay"], found["clip_norm"]) == (16, 7, 0.0001, 5.0)
    assert len(found["rates"]) == 15 * 2
    assert max(found["rates"]) == found["rates"][3] == 0.004  # the last step of two epochs of warm-up


def test_the_rows_are_means(monkeypatch: pytest.MonkeyPatch) -> None:
    def made(seconds: float) -> Course:
        return Course(1, (Evaluation(0, 0.0, 1.0, 0.0), Evaluation(46, 1.0, seconds, seconds / 2)))

    found = [(made(4.0), made(6.0)), (made(40.0), made(7.0)), (made(5.0), made(90.0)), (made(5.0), made(7.0))]
    monkeypatch.setattr(time_to_accuracy, "drawn", lambda folder: folder)
    monkeypatch.setattr(time_to_accuracy, "pairs", lambda *_: iter(found))
    training, in_all, processor = time_to_accuracy.rows(full=False)
    assert (in_all.peers, in_all.ours) == (13.5, 27.5)
    assert (training.peers, training.ours) == (12.5, 26.5)
    assert (processor.peers, processor.ours) == (6.75, 13.75)


@pytest.mark.long
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="no torch")
def test_both_programs_print_what_is_parsed(tmp_path: Path) -> None:
    folder = drawn(tmp_path)
    options = ("scheduler.num_epochs=1", "scheduler.warmup_epochs=0", "scheduler.decay_epochs=1")
    one, other = theirs(folder, 1, LAYOUTS[0], *options), ours(folder, 1, *options)
    assert one.parameters == other.parameters
    for found in (one, other):
        assert [evaluation.step for evaluation in found.evaluations] == [0, 93]
