"""The folder of a run has one at a time; a new one moves earlier results aside when nothing keeps it from starting."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.ocr import config
from hccl_kit.ocr.checkpoints.previous_run import (
    KEPT,
    PREVIOUS,
    RESUME,
    announce,
    claim,
    make_room,
    own_checkpoints,
    restarts,
    restarts_of_run,
    stale_exports,
    wanted_start,
)
from hccl_kit.runtime.worker_env import RESTART
from tests.ocr.run_tool import CONFIG, assert_refused, train
from tests.places import ROOT

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


def make(folder: Path, restart: int = 0, **system: Any) -> tuple[str, ...]:
    """A run announces itself, and makes room once it can start."""
    overrides = [f"system.{key}={value}" for key, value in system.items()]
    made = config.load(CONFIG, [f"train.ckpt_save_dir={folder}", *overrides])
    announce(made, {RESTART: str(restart)})
    return make_room(made, {RESTART: str(restart)})


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


def test_a_link_that_leads_nowhere_is_not_a_free_name(folder: Path) -> None:
    (folder / "earlier_1").symlink_to("missing")
    assert make(folder)[0].endswith("earlier_2")


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
        announce(loaded, {})
    assert "train.ckpt_save_dir" in (caught.value.hint or "")
    assert left(folder) == {**FOREIGN, **LEFT}


@pytest.mark.parametrize("given", [{"restart": 1}, {"resume": True}, {"resume": PREVIOUS}], ids=str)
def test_restarts_and_resumed_runs_move_nothing(folder: Path, given: dict[str, Any]) -> None:
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
    move = Path.replace

    def refuse(path: Path, target: Path) -> None:
        if path.name == "step_3.ckpt" and path.parent == folder:
            raise OSError(1, "Operation not permitted", str(path))
        move(path, target)

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(KitError, match=r"cannot move .*step_3.ckpt aside: Operation not permitted"):
        make(folder)
    assert left(folder) == {**FOREIGN, **LEFT, ".new_run": ""}


def test_a_restart_of_a_run_that_was_killed_while_it_started_does_not_take_the_results_for_its_own(
    folder: Path,
) -> None:
    made = config.load(CONFIG, [f"train.ckpt_save_dir={folder}"])
    announce(made, {})
    assert restarts_of_run(made, {RESTART: "1"}) == 0
    assert len(make(folder, restart=1)) == 1
    assert left(folder) == {**FOREIGN, **moved()}
    (folder / RESUME).write_text("of this run")
    assert (restarts_of_run(made, {RESTART: "2"}), make(folder, restart=2)) == (2, ())


def test_a_run_that_resumes_from_the_results_forgets_the_one_that_was_to_move_them(folder: Path) -> None:
    announce(config.load(CONFIG, [f"train.ckpt_save_dir={folder}"]), {})
    assert make(folder, resume=True) == ()
    assert left(folder) == {**FOREIGN, **LEFT}


def spoiled(folder: Path, words: Path, cause: str) -> tuple[list[str], str]:
    """Overrides of a training that cannot start, and the error."""
    labels = words / "train_gt.txt"
    data = folder.parent / "data"
    data.mkdir()
    match cause:
        case "labels in another encoding":
            (data / "gt.txt").write_bytes(labels.read_bytes() + "x.png\tCAF\u00c9\n".encode("latin-1"))
            return [f"train.dataset.label_file={data / 'gt.txt'}"], "UTF-8"
        case "images elsewhere":
            (data / "train").mkdir()
            return [f"train.dataset.data_dir={data}"], "no sample of a whole batch can be used"
        case "weights of another network":
            (data / "w.ckpt").write_bytes(b"not weights")
            return [f"model.pretrained={data / 'w.ckpt'}"], "is damaged or not a checkpoint"
        case "too few samples":
            return ["train.loader.batch_size=60000"], "too few for one step"
    raise AssertionError(cause)


@pytest.mark.train
@pytest.mark.parametrize(
    "cause", ["labels in another encoding", "images elsewhere", "weights of another network", "too few samples"]
)
def test_a_training_that_cannot_start_leaves_the_folder_as_it_was(tmp_path: Path, words: Path, cause: str) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    for name, text in {**LEFT, **FOREIGN, "metrics.jsonl": "{}"}.items():
        (folder / name).write_text(text)
    before = left(folder)
    overrides, message = spoiled(folder, words, cause)
    assert_refused(train(folder, words, *overrides), 2, message)
    assert left(folder) == before


@pytest.mark.parametrize(("value", "number"), [(None, 0), ("", 0), ("0", 0), ("3", 3)])
def test_reads_the_number_of_restarts(value: str | None, number: int) -> None:
    assert restarts({} if value is None else {RESTART: value}) == number


@pytest.mark.parametrize("value", ["-1", "x", "1.0", "9" * 11, "\N{ARABIC-INDIC DIGIT ONE}"])
def test_an_invalid_number_of_restarts_is_refused(value: str) -> None:
    with pytest.raises(KitError, match=RESTART):
        restarts({RESTART: value})


HOLD = """
import sys, time
from pathlib import Path
from hccl_kit.ocr.checkpoints.previous_run import claim
claim(Path(sys.argv[1]))
print("claimed", flush=True)
time.sleep(600)
"""


@pytest.fixture
def claimed(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "one"


def held(folder: Path) -> subprocess.Popen[str]:
    """A process that has claimed the folder."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    assert process.stdout.readline() == "claimed\n"
    return process


def test_a_folder_of_a_running_training_is_refused(claimed: Path) -> None:
    with held(claimed) as process:
        try:
            with pytest.raises(KitError, match=f"another training is writing into {claimed}") as caught:
                claim(claimed, patience=0.2)
        finally:
            process.kill()
    assert "train.ckpt_save_dir" in (caught.value.hint or "")
    assert list(claimed.iterdir()) == []


def test_a_killed_training_leaves_no_claim(claimed: Path) -> None:
    with held(claimed) as process:
        process.kill()
    claim(claimed, patience=0)


def test_a_training_that_is_about_to_end_is_waited_for(claimed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with held(claimed) as process:

        def sleep(_: float) -> None:
            process.kill()
            process.wait()

        monkeypatch.setattr("time.sleep", sleep)
        claim(claimed)
        assert process.returncode == -signal.SIGKILL


def test_a_folder_that_cannot_be_created_is_an_error(claimed: Path) -> None:
    claimed.parent.write_text("a file")
    with pytest.raises(KitError, match=f"cannot write into {claimed}: Not a directory"):
        claim(claimed)


def test_a_process_may_train_into_its_folder_again(claimed: Path) -> None:
    claim(claimed)
    claim(claimed, patience=0)
