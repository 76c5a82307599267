"""Checkpoint retention: the latest or the best of this run, and never fewer than configured."""

import json
from pathlib import Path

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.checkpoints import checkpoint, retention
from hccl_kit.ocr.checkpoints.previous_run import KEPT
from tests.ocr.tiny import Normed, values

pytestmark = pytest.mark.train
SCORES = {3: 0.5, 6: 0.9, 9: 0.7, 12: 0.9, 15: 0.1}


def run(folder: Path, policy: str, most: int = 2, scores: dict[int, float] = SCORES) -> dict[int, Normed]:
    networks = {step: Normed() for step in scores}
    for step, score in scores.items():
        retention.save(folder, networks[step].get_parameters(), (step, score), policy=policy, most=most)
    return networks


def steps(folder: Path) -> list[int]:
    """The steps of the files, which must match the index."""
    found = {path.name for path in folder.glob("step_*.ckpt")}
    assert found == {row.file for row in retention.read(folder)}
    return sorted(row.step for row in retention.read(folder))


@pytest.mark.parametrize(
    ("policy", "most", "kept"),
    [
        ("latest_k", 2, [12, 15]),
        ("top_k", 2, [6, 12]),
        ("top_k", 3, [6, 9, 12]),
        ("top_k", 9, list(SCORES)),
        ("latest_k", 1, [15]),
        ("top_k", 1, [12]),
    ],
)
def test_the_policy_selects_the_latest_or_the_best(tmp_path: Path, policy: str, most: int, kept: list[int]) -> None:
    networks = run(tmp_path, policy, most)
    assert steps(tmp_path) == kept
    for step in kept:
        read = Normed()
        checkpoint.load(tmp_path / f"step_{step}.ckpt", read.get_parameters())
        assert all((value == values(networks[step])[name]).all() for name, value in values(read).items())


def test_a_resumed_run_drops_the_steps_that_it_repeats(tmp_path: Path) -> None:
    run(tmp_path, "top_k", 3)
    run(tmp_path, "top_k", 3, {9: 0.2})
    assert steps(tmp_path) == [6, 9]


def test_files_of_other_runs_are_kept(tmp_path: Path) -> None:
    (tmp_path / "step_1.ckpt").write_text("of another run")
    run(tmp_path, "latest_k", 1)
    assert (tmp_path / "step_1.ckpt").read_text() == "of another run"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[1]",
        '[{"file": "a"}]',
        json.dumps([retention.Kept("../x", 1, 1.0)._asdict()]),
        '[{"file": "step_-5.ckpt", "step": -5, "score": 1}]',
        '[{"file": "step_1.ckpt", "step": Infinity, "score": 1}]',
        "[" * 100_000,
    ],
)
def test_an_invalid_index_is_named_and_removes_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / KEPT).write_text(text)
    with pytest.raises(KitError, match=KEPT):
        run(tmp_path, "top_k")
