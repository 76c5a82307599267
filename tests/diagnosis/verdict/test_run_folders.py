"""Folders of runs beside each other, as our launchers leave them in hccl_logs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from hccl_kit.diagnosis.job import diagnose
from hccl_kit.diagnosis.verdict.diagnosis import Diagnosis

TRACEBACK = 'Traceback (most recent call last):\n  File "/job/train.py", line {line}, in <module>\n{error}\n'
START = 1_795_000_000


def run(logs: Path, name: str, files: Mapping[str, str]) -> Path:
    folder = logs / name
    folder.mkdir(parents=True)
    for file, text in files.items():
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_text(text)
    return folder


def failed(logs: Path, number: int, rank: int, error: str, server: int = 0) -> None:
    """A run in which one of two ranks of a server failed, `number` minutes after the first run."""
    end = START + 60 * number
    ranks = {f"rank_{other}.log": "" for other in (2 * server, 2 * server + 1)}
    notes = f"{end} exited {rank} 1 {rank} node{server}\n{end} ending rank {rank} 1\n"
    texts = {
        f"launcher_{server}": notes,
        f"rank_{rank}.log": TRACEBACK.format(line=number, error=error),
    }
    run(logs, f"20261129-18{number:02}00-{number}{server}", {**ranks, **texts})


def succeeded(logs: Path, number: int) -> None:
    run(logs, f"20261129-18{number:02}00-{number}0", {f"rank_{rank}.log": "epoch 1: loss 0.1\n" for rank in range(2)})


def verdict(logs: Path) -> Diagnosis:
    return diagnose([str(logs)])


def blamed(diagnosis: Diagnosis) -> tuple[int | None, str]:
    assert diagnosis.first_fault is not None
    return diagnosis.first_fault.suspect.rank, diagnosis.first_fault.kind


def test_the_run_that_failed_last_is_judged(tmp_path: Path) -> None:
    failed(tmp_path, 1, 1, "KeyError: 'label'")
    failed(tmp_path, 2, 0, "IndexError: 7")
    diagnosis = verdict(tmp_path)
    rank, words = blamed(diagnosis)
    assert (rank, "IndexError: 7" in words) == (0, True)
    assert diagnosis.contradicts == ()
    assert any("of other runs left out, of 2026-11-18" in note for note in diagnosis.notes)


@pytest.mark.parametrize("rank", [0, 1])
def test_a_later_run_that_succeeded_changes_nothing(tmp_path: Path, rank: int) -> None:
    failed(tmp_path, 1, rank, "IndexError: 7")
    alone = verdict(tmp_path)
    succeeded(tmp_path, 2)
    together = verdict(tmp_path)
    assert blamed(together) == blamed(alone)
    assert "IndexError: 7" in blamed(alone)[1]
    assert together.certainty == alone.certainty


def test_the_folders_of_two_servers_are_one_job(tmp_path: Path) -> None:
    failed(tmp_path / "a", 1, 1, "IndexError: 7", server=0)
    failed(tmp_path / "b", 2, 3, "KeyError: 'label'", server=1)
    diagnosis = verdict(tmp_path)
    assert {line.suspect.rank for line in diagnosis.ranks} == {0, 1, 2, 3}
    assert not any("left out" in note for note in diagnosis.notes)
