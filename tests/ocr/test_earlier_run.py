"""Checkpoints of an earlier run: a new one moves them aside before anything else can fail."""

from pathlib import Path
from typing import Any

import pytest

from hccl_kit.errors import KitError
from hccl_kit.ocr import config
from hccl_kit.ocr.earlier_run import KEPT, OLD, PREVIOUS, RESUME, make_room, own_checkpoints, restarts, wanted_start
from hccl_kit.worker_env import RESTART, WorkerEnv
from tests.ocr.programs import CONFIG, tool

LEFT = {RESUME: "last", PREVIOUS: "before"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in LEFT.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def left(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def make(folder: Path, rank: int = 0, restart: int = 0, **system: Any) -> tuple[str, ...]:
    overrides = [f"system.{key}={value}" for key, value in system.items()]
    made = config.load(CONFIG, [f"train.ckpt_save_dir={folder}", *overrides])
    env = WorkerEnv(rank=rank, size=2, local_rank=rank, local_size=2, device=rank)
    return make_room(made, env, {RESTART: str(restart)})


def test_a_new_run_keeps_the_last_checkpoint_aside(folder: Path) -> None:
    assert make(folder) == (f"{folder / RESUME} of an earlier run is now {OLD}",)
    assert left(folder) == {OLD: "last"}
    assert make(folder) == ()
    assert left(folder) == {OLD: "last"}


def test_a_run_that_starts_from_another_file_keeps_none_of_its_own(folder: Path) -> None:
    make(folder, resume=folder / "other" / RESUME)
    assert left(folder) == {OLD: "last"}


@pytest.mark.parametrize("given", [{"rank": 1}, {"restart": 1}, {"resume": True}, {"resume": PREVIOUS}], ids=str)
def test_other_runs_touch_nothing(folder: Path, given: dict[str, Any]) -> None:
    if given.get("resume") == PREVIOUS:
        given = {"resume": folder / PREVIOUS}
    assert make(folder, **given) == ()
    assert left(folder) == LEFT


def test_auto_goes_on_where_there_is_a_checkpoint(folder: Path, tmp_path: Path) -> None:
    assert make(folder, resume="auto") == ()
    assert left(folder) == LEFT
    loaded = config.load(CONFIG, [f"train.ckpt_save_dir={folder}", "system.resume=auto"])
    assert wanted_start(loaded) is True
    for path in own_checkpoints(loaded):
        path.unlink()
    assert wanted_start(loaded) is False


def test_weights_that_an_earlier_run_has_kept_are_nobodys(folder: Path) -> None:
    (folder / KEPT).write_text("[]")
    (folder / "step_3.ckpt").write_text("weights")
    make(folder)
    assert left(folder) == {OLD: "last", "step_3.ckpt": "weights"}


def test_a_folder_that_cannot_be_changed_is_named(folder: Path) -> None:
    (folder / OLD).mkdir()
    with pytest.raises(KitError, match=f"cannot move {folder / PREVIOUS} aside: Is a directory"):
        make(folder)


@pytest.mark.train
def test_a_training_that_fails_before_its_first_step_has_made_room(folder: Path, words: Path) -> None:
    """Started again by its launcher it would else go on from a run that is over."""
    overrides = (f"train.dataset.dataset_root={words}", f"eval.dataset.dataset_root={words}")
    done = tool(
        "train", "-c", CONFIG, "-o", f"train.ckpt_save_dir={folder}", *overrides, "train.loader.batch_size=60000"
    )
    assert done.returncode == 2, done.stderr
    assert left(folder)[OLD] == "last"
    assert RESUME not in left(folder)


@pytest.mark.parametrize(("value", "number"), [(None, 0), ("", 0), ("0", 0), ("3", 3)])
def test_the_number_of_restarts(value: str | None, number: int) -> None:
    assert restarts({} if value is None else {RESTART: value}) == number


@pytest.mark.parametrize("value", ["-1", "x", "1.0", "9" * 10, "\N{ARABIC-INDIC DIGIT ONE}"])
def test_a_number_of_restarts_that_is_none_is_refused(value: str) -> None:
    with pytest.raises(KitError, match=RESTART):
        restarts({RESTART: value})
