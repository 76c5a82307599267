"""The folder of a training: rank 0 from metrics.jsonl, for runs without a launch script."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from hccl_kit.runtime.pulse import POINTS
from hccl_kit.watch.look import Folder
from hccl_kit.watch.text import as_text
from hccl_kit.watch.training_folder import read

STRAGGLER = {"rank": 1, "part": "data", "since_step": 12, "until_step": None, "own_s": 0.5, "others_s": 0.1}


def training(folder: Path, *rows: dict[str, Any], summary: object = None) -> Path:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "metrics.jsonl").write_text(text)
    (folder / "log_0.txt").write_text("2026-01-01 INFO hello\n")
    if summary is not None:
        (folder / "summary.json").write_text(json.dumps(summary))
    return folder


def row(step: int, loss: float = 2.0) -> dict[str, Any]:
    return {"step": step, "epoch": 0, "loss": loss, "lr": 0.1, "data_s": 1.0, "compute_s": 2.0, "communication_s": 1.0}


def test_reads_a_running_training(tmp_path: Path) -> None:
    job = Folder(training(tmp_path, row(10), row(20, 1.0), {"step": 20, "accuracy": 0.5})).look()
    (rank,) = job.ranks
    assert (job.state, rank.step, rank.loss, job.size) == ("running", 20, 1.0, 1)
    assert job.speed == 20 / 8.0
    assert [point.span.step for point in rank.curve] == [10, 20]
    assert "rank 0, last log line: 2026-01-01 INFO hello" in as_text(job)
    assert (job.is_over, job.is_well) == (False, True)


def test_reads_a_finished_training_with_a_straggler(tmp_path: Path) -> None:
    summary = {"world_size": 4, "steps": 20, "straggler": STRAGGLER}
    job = Folder(training(tmp_path, row(10), row(20), summary=summary)).look()
    assert (job.state, job.size, job.is_over, job.is_well) == ("done", 4, True, False)
    text = as_text(job)
    assert (
        "problem: rank 1 slows down the others since step 12, by its data: 0.50 s a step for data and computing, "
        "the others 0.10 s (400% more)\n"
    ) in text
    assert "note: 4 ranks; only rank 0 writes into this folder" in text


@pytest.mark.parametrize(
    "straggler", [None, 3, {}, STRAGGLER | {"until_step": 40}, STRAGGLER | {"part": "x"}, STRAGGLER | {"own_s": "1"}]
)
def test_reads_a_training_without_a_straggler(tmp_path: Path, straggler: object) -> None:
    job = Folder(training(tmp_path, row(10), summary={"steps": 10, "straggler": straggler})).look()
    assert job.straggler is None


def test_a_training_without_progress_is_considered_over(tmp_path: Path) -> None:
    training(tmp_path, row(10))
    for path in tmp_path.iterdir():
        os.utime(path, (1000, 1000))
    job = Folder(tmp_path).look()
    assert (job.state, job.is_over) == ("running", True)


@pytest.mark.parametrize("text", ["", "{", '{"step": 1, "loss"', "[1]\n\n{}\n", '{"step": "x", "loss": []}\n', "\0\n"])
def test_broken_lines_are_skipped(tmp_path: Path, text: str) -> None:
    training(tmp_path, row(10))
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write(text)
    (tmp_path / "summary.json").write_text(text)
    assert Folder(tmp_path).look().ranks[0].step == 10


def test_curves_of_long_trainings_are_thinned(tmp_path: Path) -> None:
    job = Folder(training(tmp_path, *(row(10 * n) for n in range(1, 1000)))).look()
    curve = job.ranks[0].curve
    assert len(curve) <= POINTS
    assert (sum(point.span.steps for point in curve), curve[-1].span.step) == (9990, 9990)


def test_a_run_whose_file_is_deleted_meanwhile_is_starting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "is_file", lambda _: True)
    assert read(tmp_path, 0.0).state == "starting"
