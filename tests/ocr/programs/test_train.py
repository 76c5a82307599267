"""Training on rendered words, as a user runs it: tools/train.py in a separate process."""

import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from hccl_kit.base.temporary import beside
from hccl_kit.ocr import config
from tests.ocr.run_tool import CONFIG, assert_refused, refusals, summary, tool, train
from tests.places import ROOT

pytestmark = pytest.mark.train

FILES = {
    *("train_config.yaml", "log_0.txt", "metrics.jsonl", "summary.json"),
    *("best.ckpt", "train_resume.ckpt", "train_resume.prev.ckpt", "ckpt_kept.json", "step_12.ckpt"),
    *("curves.png", "first_batch.png", "worst_lines.png", "tensorboard"),
}


def test_a_training_writes_its_files(run: Path) -> None:
    assert {path.name for path in run.iterdir()} == FILES
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    losses = [row["loss"] for row in rows if "loss" in row]
    assert [row["step"] for row in rows if "loss" in row] == [5, 10, 12]
    assert losses[-1] < losses[0]
    log = (run / "log_0.txt").read_text()
    assert "96 samples, 6 steps an epoch, 12 steps in all, 153733 parameters to train" in log
    assert "evaluation after step 12: " in log
    assert "launcher single" in log
    assert log.endswith(f"next: hccl-kit predict -c {run}/train_config.yaml --images FOLDER\n")


def test_the_summary_describes_the_run(run: Path) -> None:
    found = summary(run)
    assert (found["world_size"], found["steps"], found["launcher"], found["device_target"]) == (1, 12, "single", "CPU")
    assert found["weights_changed"] is True
    assert found["ranks_equal"] is True
    assert found["bad_samples"] == 0
    assert 0 <= found["word_accuracy"] <= 1
    assert found["samples_per_s"] > 0
    assert found["wall_s"] >= found["compile_s"] + found["train_s"] > 0
    assert [len(digest) for digest in found["parameters_sha256"]] == [64]
    assert found["config_sha256"] == config.load(run / "train_config.yaml").digest


@pytest.mark.long
def test_the_archived_configuration_starts_the_same_job(run: Path, words: Path, tmp_path: Path) -> None:
    """The same seed, data and steps give the same weights, element by element."""
    done = tool("train", "-c", run / "train_config.yaml", "-o", f"train.ckpt_save_dir={tmp_path / 'again'}")
    assert done.returncode == 0, done.stderr
    assert summary(tmp_path / "again")["parameters_sha256"] == summary(run)["parameters_sha256"]


def test_a_resumed_run_has_the_result_of_the_uninterrupted_one(run: Path, words: Path, tmp_path: Path) -> None:
    """Stopped in the second of two epochs, after a checkpoint that was not written by an evaluation."""
    folder = tmp_path / "run"
    stopped = train(folder, words, "train.max_steps=7")
    assert stopped.returncode == 0, stopped.stderr
    half = summary(folder)
    assert half["steps"] == 7
    assert half["parameters_sha256"] != summary(run)["parameters_sha256"]
    resumed = train(folder, words, "train.max_steps=12", "system.resume=True")
    assert resumed.returncode == 0, resumed.stderr
    assert f"resumed from {folder / 'train_resume.ckpt'} after step 7" in resumed.stdout
    assert summary(folder)["steps"] == 12
    assert summary(folder)["parameters_sha256"] == summary(run)["parameters_sha256"]


SVTR = (
    *(
        "common.batch_size=8",
        "train.max_steps=4",
        "train.ema=False",
    ),
    *("model.backbone.embed_dim=[16,32,32]", "model.backbone.depth=[1,1,1]", "model.backbone.num_heads=[2,2,2]"),
    *("model.backbone.mixer=[Local,Local,Global]", "model.backbone.out_channels=32"),
    *(f"{part}.dataset.type=RecDataset" for part in ("train", "eval")),
    *("train.dataset.data_dir=train", "train.dataset.label_file=train_gt.txt"),
    *("eval.dataset.data_dir=test", "eval.dataset.label_file=test_gt.txt"),
)


@pytest.mark.long
def test_random_numbers_inside_the_network_are_resumed_too(words: Path, tmp_path: Path) -> None:
    """Dropout and stochastic depth of SVTR."""
    config = ROOT / "configs" / "rec" / "svtr" / "svtr_tiny.yaml"
    for folder, *more in (("whole",), ("parts", "train.max_steps=2"), ("parts", "system.resume=True")):
        done = train(tmp_path / folder, words, *SVTR, *more, config=config)
        assert done.returncode == 0, done.stderr
    assert summary(tmp_path / "parts")["steps"] == 4
    assert summary(tmp_path / "parts")["parameters_sha256"] == summary(tmp_path / "whole")["parameters_sha256"]


@pytest.mark.long
def test_an_attention_head_can_be_trained_evaluated_and_exported(words: Path, tmp_path: Path) -> None:
    """Train, evaluate, predict and export; the best weights read the same texts as in training."""
    config = ROOT / "configs" / "rec" / "rare" / "rare_small.yaml"
    done = train(tmp_path / "run", words, "train.max_steps=12", "system.log_interval=5", config=config)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    losses = [row["loss"] for row in rows if "loss" in row]
    assert losses[-1] < losses[0]
    archive, best = tmp_path / "run" / "train_config.yaml", tmp_path / "run" / "best.ckpt"
    done = tool("eval", "-c", archive, "-o", f"eval.ckpt_load_path={best}", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["norm_edit_distance"] == pytest.approx(
        summary(tmp_path / "run")["norm_edit_distance"], abs=1e-6
    )
    done = tool("predict", "-c", archive, "-o", f"eval.ckpt_load_path={best}", "--images", words / "test")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 20


@pytest.mark.long
def test_a_finished_run_is_not_resumed_silently(run: Path, words: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "run")
    with subprocess.Popen(["true"]) as ended:
        pass
    left = beside(tmp_path / "run" / "curves.png", "0.tmp").name.replace(f".{os.getpid()}.", f".{ended.pid}.")
    (tmp_path / "run" / left).write_text("half")
    done = train(tmp_path / "run", words, "train.max_steps=12", "system.resume=True")
    assert done.returncode == 0, done.stderr
    assert "warning: no step is left: 12 are done, and scheduler.num_epochs and train.max_steps ask" in done.stdout
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    evaluated = [row["step"] for row in rows if "loss" not in row]
    assert len(evaluated) == len(set(evaluated)), "the evaluation that is repeated replaces its line"
    assert not list((tmp_path / "run").glob(".*")), "what the killed process has left is removed"
    before, after = summary(run), summary(tmp_path / "run")
    assert [after[key] for key in ("steps", "best", "parameters_sha256")] == [
        before[key] for key in ("steps", "best", "parameters_sha256")
    ]
    assert after["weights_changed"] is None


def test_unchanged_weights_end_the_run(words: Path, tmp_path: Path) -> None:
    overrides = ("scheduler.scheduler=constant", "scheduler.lr=1e-30", "train.loader.batch_size=4")
    done = train(tmp_path / "run", words, *overrides)
    assert_refused(done, 1, "the weights have not moved until step 10", "scheduler.lr may be too small")
    assert not (tmp_path / "run" / "summary.json").exists()


@pytest.mark.long
def test_a_gradient_that_is_not_finite_ends_the_run(words: Path, tmp_path: Path) -> None:
    """Plain SGD with rate 100 and weight decay 1000: the weights grow by a factor of 100,000 in every step."""
    overrides = (
        "optimizer.opt=sgd",
        "optimizer.weight_decay=1000",
        "scheduler.scheduler=constant",
        "scheduler.lr=100",
        "train.clip_grad=False",
        "train.loader.batch_size=4",
    )
    done = train(tmp_path / "run", words, *overrides)
    assert_refused(done, 1, "is not finite", "the weights were not touched", "train/000", "lower scheduler.lr")


def test_an_invalid_configuration_is_refused_at_once_and_leaves_no_folder(words: Path, tmp_path: Path) -> None:
    places = [f"{section}.dataset.dataset_root={words}" for section in ("train", "eval")]
    dictionary = "eval.dataset.transform_pipeline.1.RecCTCLabelEncode.character_dict_path"
    cases = {
        "scheduler.lr=fast": "-o scheduler.lr=fast: scheduler.lr is 'fast'; expected a number",
        "system=3": "system is 3; expected a section",
        "eval.dataset.label_file=no.txt": "eval.dataset: there is no label file",
        f"{dictionary}=no.txt": f"error: {dictionary}: cannot read no.txt",
    }
    target = f"train.ckpt_save_dir={tmp_path / 'run'}"
    commands = [("train", "-c", CONFIG, "-o", *places, target, override) for override in cases]
    for message, errors in zip(cases.values(), refusals(*commands), strict=True):
        assert message in errors
    assert not (tmp_path / "run").exists()


@pytest.mark.long
def test_a_new_run_in_the_same_folder_keeps_the_results_of_the_first(run: Path, words: Path, tmp_path: Path) -> None:
    """Also if it starts from the archive that it overwrites."""
    folder = tmp_path / "run"
    shutil.copytree(run, folder)
    (folder / "best.onnx").write_text("of the first best.ckpt")
    places = (f"train.ckpt_save_dir={folder}", "train.max_steps=2")
    done = tool("train", "-c", folder / "train_config.yaml", "-o", *places)
    assert done.returncode == 0, done.stderr
    assert f"{folder} holds the results of an earlier run; they are now in {folder / 'earlier_1'}" in done.stdout
    assert {path.name for path in (folder / "earlier_1").iterdir()} == {*FILES, "best.onnx"}
    assert (folder / "earlier_1" / "best.ckpt").read_bytes() == (run / "best.ckpt").read_bytes()
    assert not (folder / "best.onnx").exists()
    assert summary(folder)["steps"] == 2
    assert summary(folder / "earlier_1") == summary(run)


def test_a_second_training_into_the_same_folder_is_refused(words: Path, tmp_path: Path) -> None:
    """It would move the files of the first aside while these are written. Nothing in the folder changes."""
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "best.ckpt").write_text("of the first training")
    places = [f"{section}.dataset.dataset_root={words}" for section in ("train", "eval")]
    command = ("train", "-c", CONFIG, "-o", *places, f"train.ckpt_save_dir={folder}")
    with claimed(folder):
        for errors in refusals(*((*command, f"system.resume={resume}") for resume in ("False", "auto")), heavy=()):
            assert f"another training is writing into {folder}" in errors
            assert "-o train.ckpt_save_dir=" in errors
    assert [path.name for path in folder.iterdir()] == ["best.ckpt"]


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """The lock of a training, as `hccl_kit.ocr.checkpoints.previous_run` takes it."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def test_the_archive_is_the_complete_configuration_in_yaml(run: Path) -> None:
    archived = yaml.safe_load((run / "train_config.yaml").read_text())
    assert archived["train"]["max_steps"] == 12
    assert archived["optimizer"]["momentum"] == 0.9
    assert archived.keys() == dict(config.load(CONFIG).values).keys()
