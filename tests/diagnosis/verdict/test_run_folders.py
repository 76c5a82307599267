"""Folders of runs beside each other, as our launchers leave them in hccl_logs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from hccl_kit.base.errors import EXIT_FINDINGS
from hccl_kit.cli.diagnose import main
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


def failed(logs: Path, number: int, rank: int, error: str, server: int = 0, folder: str = "") -> None:
    """A start in which one of two ranks of a server failed, `number` minutes after the first one."""
    end = START + 60 * number
    ranks = {f"rank_{other}.log": "" for other in (2 * server, 2 * server + 1)}
    notes = f"{end} exited {rank} 1 {rank} node{server}\n{end} ending rank {rank} 1\n"
    texts = {
        f"launcher_{server}": notes,
        f"rank_{rank}.log": TRACEBACK.format(line=number, error=error),
    }
    run(logs, folder or f"20261129-18{number:02}00-{number}{server}", {**ranks, **texts})


def succeeded(logs: Path, folder: str) -> None:
    run(logs, folder, {f"rank_{rank}.log": "epoch 1: loss 0.1\n" for rank in range(2)})


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


@pytest.mark.parametrize("folder", ["20261129-180200-20", "slurm-4"])
@pytest.mark.parametrize("rank", [0, 1])
def test_a_later_run_that_succeeded_changes_nothing(tmp_path: Path, rank: int, folder: str) -> None:
    failed(tmp_path, 1, rank, "IndexError: 7")
    alone = verdict(tmp_path)
    succeeded(tmp_path, folder)
    together = verdict(tmp_path)
    assert blamed(together) == blamed(alone)
    assert "IndexError: 7" in blamed(alone)[1]
    assert together.certainty == alone.certainty


def test_an_unknown_error_does_not_make_a_later_run_a_failed_one(tmp_path: Path) -> None:
    """Some installations log errors at every start."""
    failed(tmp_path, 1, 0, "IndexError: 7")
    line = "[ERROR] DRV(77,python3):2026-11-29-18:05:00.000.000 [a.cc:12] [78]a value that no row knows is odd\n"
    run(tmp_path, "20261129-180200-2", {"rank_0.log": line, "rank_1.log": "epoch 1: loss 0.1\n"})
    assert "IndexError: 7" in blamed(verdict(tmp_path))[1]


def test_the_folders_of_two_servers_are_one_job(tmp_path: Path) -> None:
    failed(tmp_path / "a", 1, 1, "IndexError: 7", server=0)
    failed(tmp_path / "b", 2, 3, "KeyError: 'label'", server=1)
    diagnosis = verdict(tmp_path)
    assert {line.suspect.rank for line in diagnosis.ranks} == {0, 1, 2, 3}
    assert not any("left out" in note for note in diagnosis.notes)


def test_the_last_start_of_a_run_is_judged(tmp_path: Path) -> None:
    failed(tmp_path, 1, 1, "KeyError: 'label'", folder="20261129-180000-1")
    failed(tmp_path, 2, 0, "IndexError: 7", folder="20261129-180000-1/restart_1")
    rank, words = blamed(verdict(tmp_path))
    assert (rank, "IndexError: 7" in words) == (0, True)


def test_a_run_whose_error_is_unknown_is_not_explained_by_another_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    failed(tmp_path, 1, 1, "RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB")
    end = START + 120
    run(tmp_path, "20261129-180200-2", {"launcher_0": f"{end} ending term -1 143\n", "rank_1.log": "epoch 1\n"})
    assert main([str(tmp_path)]) == EXIT_FINDINGS
    assert "out of memory" not in capsys.readouterr().out
