"""Results of an earlier run: a new one moves them aside before anything else can fail."""

import os
from pathlib import Path
from typing import Any

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.ocr import config
from hccl_kit.ocr.checkpoints.previous_run import (
    KEPT,
    PREVIOUS,
    RESUME,
    make_room,
    own_checkpoints,
    restarts,
    stale_exports,
    wanted_start,
)
from hccl_kit.runtime.worker_env import RESTART, WorkerEnv
from tests.ocr.run_tool import CONFIG, tool

LEFT = {
    **{RESUME: "last", PREVIOUS: "before", "best.ckpt": "75 %", "best.onnx": "of best", KEPT: "[]", "step_3.ckpt": "3"},
    **{"log_0.txt": "log", "summary.json": "{}"},
}
FOREIGN = {"notes.txt": "mine", "best.txt": "mine", "step_x.ckpt": "mine", "labels.json": "mine"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {**LEFT, **FOREIGN}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def left(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def moved(number: int = 1) -> dict[str, str]:
    return {f"earlier_{number}/{name}": text for name, text in LEFT.items()}


def make(folder: Path, rank: int = 0, restart: int = 0, **system: Any) -> tuple[str, ...]:
    overrides = [f"system.{key}={value}" for key, value in system.items()]
    made = config.load(CONFIG, [f"train.ckpt_save_dir={folder}", *overrides])
    env = WorkerEnv(rank=rank, size=2, local_rank=rank, local_size=2, device=rank)
    return make_room(made, env, {RESTART: str(restart)})


def test_a_new_run_moves_the_results_aside_and_nothing_else(folder: Path) -> None:
    aside = folder / "earlier_1"
    assert make(folder) == (f"{folder} holds the results of an earlier run; they are now in {aside}",)
    assert left(folder) == {**FOREIGN, **moved()}
    assert make(folder) == ()
    assert left(folder) == {**FOREIGN, **moved()}


def test_every_earlier_run_has_a_separate_folder(folder: Path) -> None:
    make(folder)
    (folder / "best.ckpt").write_text("27 %")
    assert make(folder)[0].endswith("earlier_2")
    assert left(folder) == {**FOREIGN, **moved(), "earlier_2/best.ckpt": "27 %"}


def test_an_export_that_is_older_than_the_best_weights_is_stale(folder: Path) -> None:
    """A resumed run writes better weights next to it."""
    for name, when in (("best.onnx", 1), ("best.ckpt", 2), ("best.mindir", 3)):
        (folder / name).write_text("")
        os.utime(folder / name, (when, when))
    assert stale_exports(folder) == [folder / "best.onnx"]
    (folder / "best.ckpt").unlink()
    assert stale_exports(folder) == []


def test_a_run_without_results_is_not_kept(tmp_path: Path) -> None:
    (tmp_path / "log_0.txt").write_text("error")
    assert make(tmp_path) == ()
    assert left(tmp_path) == {"log_0.txt": "error"}


@pytest.mark.parametrize("name", [RESUME, PREVIOUS, "best.ckpt", "summary.json"])
def test_any_single_result_is_moved_aside(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("result")
    assert len(make(tmp_path)) == 1
    assert left(tmp_path) == {f"earlier_1/{name}": "result"}


def test_a_run_resumes_from_its_latest_checkpoint(tmp_path: Path) -> None:
    made = config.load(CONFIG, [f"train.ckpt_save_dir={tmp_path}"])
    assert own_checkpoints(made) == [tmp_path / RESUME, tmp_path / PREVIOUS]


def test_the_configuration_is_copied_because_other_ranks_read_it(folder: Path) -> None:
    (folder / "train_config.yaml").write_text("a: 1")
    make(folder)
    for place in (folder, folder / "earlier_1"):
        assert (place / "train_config.yaml").read_text() == "a: 1"


def test_a_run_that_resumes_from_elsewhere_moves_all_its_results(folder: Path) -> None:
    make(folder, resume=folder / "other" / RESUME)
    assert left(folder) == {**FOREIGN, **moved()}


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("system.resume", "best.ckpt"),
        ("model.pretrained", "best.ckpt"),
        ("model.backbone.pretrained", "best.ckpt"),
        ("postprocess.language_model.texts", "log_0.txt"),
    ],
)
def test_a_run_that_starts_from_a_result_in_its_folder_is_refused(folder: Path, key: str, name: str) -> None:
    best = folder / "new" / ".." / name
    (folder / "new").mkdir()
    loaded = config.load(CONFIG, [f"train.ckpt_save_dir={folder}", f"{key}={best}"])
    with pytest.raises(KitError, match=f"{key} is .*{name}, a result of the earlier run in") as caught:
        make_room(loaded, WorkerEnv(rank=0, size=1, local_rank=0, local_size=1, device=0), {})
    assert "train.ckpt_save_dir" in (caught.value.hint or "")
    assert left(folder) == {**FOREIGN, **LEFT}


@pytest.mark.parametrize("given", [{"rank": 1}, {"restart": 1}, {"resume": True}, {"resume": PREVIOUS}], ids=str)
def test_other_ranks_restarts_and_resumed_runs_move_nothing(folder: Path, given: dict[str, Any]) -> None:
    if given.get("resume") == PREVIOUS:
        given = {"resume": folder / PREVIOUS}
    assert make(folder, **given) == ()
    assert left(folder) == {**FOREIGN, **LEFT}


def test_auto_resumes_if_there_is_a_checkpoint(folder: Path, tmp_path: Path) -> None:
    assert make(folder, resume="auto") == ()
    assert left(folder) == {**FOREIGN, **LEFT}
    loaded = config.load(CONFIG, [f"train.ckpt_save_dir={folder}", "system.resume=auto"])
    assert wanted_start(loaded) is True
    for path in own_checkpoints(loaded):
        path.unlink()
    assert wanted_start(loaded) is False


def test_a_folder_that_cannot_be_changed_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, _: Path) -> None:
        raise OSError(30, "Read-only file system", str(path))

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(KitError, match=r"cannot move .* aside: Read-only file system"):
        make(folder)


@pytest.mark.train
def test_a_training_that_fails_before_its_first_step_has_moved_old_results(folder: Path, words: Path) -> None:
    """Otherwise a restart by its launcher would continue from a finished run."""
    overrides = (f"train.dataset.dataset_root={words}", f"eval.dataset.dataset_root={words}")
    done = tool(
        "train", "-c", CONFIG, "-o", f"train.ckpt_save_dir={folder}", *overrides, "train.loader.batch_size=60000"
    )
    assert done.returncode == 2, done.stderr
    found = left(folder)
    assert moved().items() <= found.items()
    assert not {RESUME, "best.ckpt"} & found.keys()


@pytest.mark.parametrize(("value", "number"), [(None, 0), ("", 0), ("0", 0), ("3", 3)])
def test_reads_the_number_of_restarts(value: str | None, number: int) -> None:
    assert restarts({} if value is None else {RESTART: value}) == number


@pytest.mark.parametrize("value", ["-1", "x", "1.0", "9" * 11, "\N{ARABIC-INDIC DIGIT ONE}"])
def test_an_invalid_number_of_restarts_is_refused(value: str) -> None:
    with pytest.raises(KitError, match=RESTART):
        restarts({RESTART: value})
