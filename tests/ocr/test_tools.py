"""From rendered words to readings, the way a user goes: the programs of tools/, each in a process of its own."""

import json
import shutil
import subprocess
from pathlib import Path

import cv2
import numpy as np
import pytest
import yaml

from hccl_kit.ocr import config, drawing
from hccl_kit.ocr.adapt.instruction_set import wide
from tests.ocr.programs import CONFIG, summary, tool, train
from tests.places import ROOT

pytestmark = pytest.mark.train

FILES = {
    *("train_config.yaml", "log_0.txt", "metrics.jsonl", "summary.json"),
    *("best.ckpt", "train_resume.ckpt", "train_resume.prev.ckpt", "ckpt_kept.json", "step_12.ckpt"),
    *("curves.png", "first_batch.png", "tensorboard"),
}


def assert_refused(done: subprocess.CompletedProcess[str], code: int, *parts: str) -> None:
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("error: ") == 1
    for part in parts:
        assert part in done.stderr


def test_a_training_leaves_its_files(run: Path) -> None:
    assert {path.name for path in run.iterdir()} == FILES
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    losses = [row["loss"] for row in rows if "loss" in row]
    assert [row["step"] for row in rows if "loss" in row] == [5, 10, 12]
    assert losses[-1] < losses[0]
    log = (run / "log_0.txt").read_text()
    assert "96 samples, 6 steps an epoch, 12 steps in all, 153733 parameters to train" in log
    assert "evaluation after step 12: " in log
    assert "launcher single" in log


def test_the_summary_says_what_was_done(run: Path) -> None:
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


def test_the_archived_configuration_starts_the_same_job(run: Path, words: Path, tmp_path: Path) -> None:
    """The same seed, data and steps end in the same weights, element by element."""
    done = tool("train", "-c", run / "train_config.yaml", "-o", f"train.ckpt_save_dir={tmp_path / 'again'}")
    assert done.returncode == 0, done.stderr
    assert summary(tmp_path / "again")["parameters_sha256"] == summary(run)["parameters_sha256"]


def test_a_resumed_run_ends_where_the_uninterrupted_one_ends(run: Path, words: Path, tmp_path: Path) -> None:
    """Stopped in the second epoch of two, after a checkpoint that an evaluation in between did not write."""
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
    *("common.batch_size=8", "train.max_steps=4", "train.ema=False"),
    *("model.backbone.embed_dim=[16,32,32]", "model.backbone.depth=[1,1,1]", "model.backbone.num_heads=[2,2,2]"),
    *("model.backbone.mixer=[Local,Local,Global]", "model.backbone.out_channels=32"),
    *(f"{part}.dataset.type=RecDataset" for part in ("train", "eval")),
    *("train.dataset.data_dir=train", "train.dataset.label_file=train_gt.txt"),
    *("eval.dataset.data_dir=test", "eval.dataset.label_file=test_gt.txt"),
)


@pytest.mark.long
def test_what_the_network_itself_draws_is_resumed_too(words: Path, tmp_path: Path) -> None:
    """Dropout and stochastic depth of SVTR."""
    config = ROOT / "configs" / "rec" / "svtr" / "svtr_tiny.yaml"
    for folder, *more in (("whole",), ("parts", "train.max_steps=2"), ("parts", "system.resume=True")):
        done = train(tmp_path / folder, words, *SVTR, *more, config=config)
        assert done.returncode == 0, done.stderr
    assert summary(tmp_path / "parts")["steps"] == 4
    assert summary(tmp_path / "parts")["parameters_sha256"] == summary(tmp_path / "whole")["parameters_sha256"]


LINES = ("model.backbone.name=rec_conv_lines", "model.backbone.channels=[8,16,16,16,16,16]", "train.ema=False")


def test_convolutions_that_are_products_train_resume_and_are_read_by_the_others(words: Path, tmp_path: Path) -> None:
    """Where the processor has AVX-512 the training uses it, which the evaluation does not."""
    for folder, *more in (("whole",), ("parts", "train.max_steps=6"), ("parts", "system.resume=True")):
        done = train(tmp_path / folder, words, "train.max_steps=12", *LINES, *more)
        assert done.returncode == 0, done.stderr
        assert ("as matrix products" in done.stdout) == wide({})
    run = tmp_path / "whole"
    assert summary(tmp_path / "parts")["parameters_sha256"] == summary(run)["parameters_sha256"]
    rows = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    trained = [row["norm_edit_distance"] for row in rows if "norm_edit_distance" in row]
    best = f"eval.ckpt_load_path={run / 'best.ckpt'}"
    done = tool("eval", "-c", run / "train_config.yaml", "-o", best, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["norm_edit_distance"] == pytest.approx(trained[0], abs=1e-6)


def test_an_attention_head_goes_the_same_way(words: Path, tmp_path: Path) -> None:
    """Train, evaluate, predict and export; what the best weights read in training is read again."""
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


def test_a_finished_run_is_not_resumed_in_silence(run: Path, words: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "run")
    done = train(tmp_path / "run", words, "train.max_steps=12", "system.resume=True")
    assert done.returncode == 0, done.stderr
    assert "warning: no step is left: 12 are done, and scheduler.num_epochs and train.max_steps ask" in done.stdout
    before, after = summary(run), summary(tmp_path / "run")
    assert [after[key] for key in ("steps", "best", "parameters_sha256")] == [
        before[key] for key in ("steps", "best", "parameters_sha256")
    ]
    assert after["weights_changed"] is None


def test_the_evaluation_finds_what_the_training_found(run: Path) -> None:
    override = f"eval.ckpt_load_path={run / 'best.ckpt'}"
    done = tool("eval", "-c", run / "train_config.yaml", "-o", override, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["words"] == 20
    assert found["word_accuracy"] == summary(run)["best"]
    assert found["norm_edit_distance"] == pytest.approx(summary(run)["norm_edit_distance"], abs=1e-6)


def test_the_evaluation_names_what_was_misread(run: Path) -> None:
    override = f"eval.ckpt_load_path={run / 'best.ckpt'}"
    done = tool("eval", "-c", run / "train_config.yaml", "-o", override, "--wrong")
    assert done.returncode == 0, done.stderr
    wrong = [line.split("\t") for line in done.stdout.splitlines() if "\t" in line]
    assert len(wrong) + round(20 * summary(run)["best"]) == 20
    assert all(len(row) == 3 and row[1] != row[2] for row in wrong)
    assert done.stdout.splitlines()[-1].endswith(f" of 20 words right ({summary(run)['best']:.2%})")


def test_predictions_are_lines_and_a_picture(run: Path, words: Path, tmp_path: Path) -> None:
    shutil.copytree(words / "test", tmp_path / "images")
    (tmp_path / "images" / "00003.png").write_bytes(b"damaged")
    drawn = tmp_path / "readings.png"
    done = tool(
        "predict", "-c", run / "train_config.yaml", "-o", f"eval.ckpt_load_path={run / 'best.ckpt'}",
        "--images", tmp_path / "images", "--labels", words / "test_gt.txt", "--picture", drawn,
    )  # fmt: skip
    assert_refused(done, 1, "1 of 20 images could not be read")
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert [Path(row[0]).name for row in rows] == [f"{n:05}.png" for n in range(20)]
    truths = [line.split("\t")[1] for line in (words / "test_gt.txt").read_text().splitlines()]
    assert [row[3] for row in rows] == truths
    assert rows[3][1:3] == ["", ""]
    assert all(0 <= float(row[2]) <= 1 for n, row in enumerate(rows) if n != 3)
    reason = "00003.png could not be read: not an image that OpenCV reads"
    assert f"warning: {tmp_path / 'images'}/{reason}" in done.stderr
    image = cv2.imdecode(np.fromfile(drawn, np.uint8), cv2.IMREAD_COLOR)
    assert image.shape[0] == drawing.HEADER + 20 * drawing.ROW


def test_a_prediction_of_nothing_but_damaged_images_is_refused(run: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.png").write_bytes(b"damaged")
    options = ("-c", run / "train_config.yaml", "-o", f"eval.ckpt_load_path={run / 'best.ckpt'}")
    (tmp_path / "bad.png").rename(tmp_path / "bad\x1b\udcff.png")
    done = tool("predict", *options, "--images", tmp_path, "--json", tmp_path / "found.json")
    assert_refused(done, 2, "none of the 1 images could be read")
    assert done.stdout == f"{tmp_path}/bad\\x1b\\udcff.png\t\t\n", "a file may have any name"
    (row,) = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    path, error = f"{tmp_path}/bad\x1b\udcff.png", "not an image that OpenCV reads"
    assert row == {"path": path, "text": None, "confidence": None, "error": error}


def test_weights_that_do_not_move_end_the_run(words: Path, tmp_path: Path) -> None:
    overrides = ("scheduler.scheduler=constant", "scheduler.lr=1e-30", "train.loader.batch_size=4")
    done = train(tmp_path / "run", words, *overrides)
    assert_refused(done, 1, "the weights have not moved until step 10", "is scheduler.lr too small to matter?")
    assert not (tmp_path / "run" / "summary.json").exists()


def test_a_gradient_that_is_not_finite_ends_the_run(words: Path, tmp_path: Path) -> None:
    """Plain SGD with rate 100 and weight decay 1000: the weights grow a hundred thousand times in every step."""
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


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["scheduler.lr=fast"], ["-o scheduler.lr=fast: scheduler.lr is 'fast'; expected a number"]),
        (["train.batch=3"], ["-o train.batch=3: train.batch is not a key of this release"]),
        (["system.seed"], ["-o system.seed: expected key=value"]),
    ],
)
def test_a_wrong_configuration_ends_before_mindspore_is_loaded(
    words: Path, tmp_path: Path, overrides: list[str], expected: list[str]
) -> None:
    done = train(tmp_path / "run", words, *overrides)
    assert_refused(done, 2, *expected)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("system=3", "system is 3; expected a section"),
        ("eval.dataset.label_file=no.txt", "there is no label file"),
        ("postprocess.character_dict_path=no.txt", "error: postprocess.character_dict_path: cannot read no.txt"),
        (
            "eval.dataset.transform_pipeline.1.RecCTCLabelEncode.character_dict_path=no.txt",
            "error: eval.dataset.transform_pipeline.1.RecCTCLabelEncode.character_dict_path: cannot read no.txt",
        ),
    ],
)
def test_nothing_heavy_is_loaded_for_a_wrong_configuration(words: Path, override: str, message: str) -> None:
    places = [f"{section}.dataset.dataset_root={words}" for section in ("train", "eval")]
    done = tool("train", "-c", CONFIG, "-o", *places, override, python=("-X", "importtime"))
    assert done.returncode == 2
    assert message in done.stderr
    assert "hccl_kit.ocr.config" in done.stderr
    assert "mindspore" not in done.stderr
    assert "numpy" not in done.stderr


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("eval.ckpt_load_path=no.ckpt", "there is no checkpoint no.ckpt"),
        ("eval.dataset.data_dir=.", "none of the 20 images of the evaluation can be read"),
        ("eval.dataset.label_file=no.txt", "there is no label file"),
        ("model.neck.hidden_size=8", "does not fit this configuration"),
    ],
)
def test_an_evaluation_that_cannot_run_says_why(run: Path, override: str, expected: str) -> None:
    load = f"eval.ckpt_load_path={run / 'best.ckpt'}"
    done = tool("eval", "-c", run / "train_config.yaml", "-o", load, override)
    assert_refused(done, 2, expected)


def test_the_archive_finds_the_weights_beside_it_also_after_a_move(run: Path, words: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(run, moved)
    archive = moved / "train_config.yaml"
    (moved / "best.ckpt").write_bytes(b"damaged")  # so it is seen which file is read
    done = tool("eval", "-c", archive)
    assert_refused(done, 2, f"the checkpoint {moved / 'best.ckpt'} is damaged")
    shutil.copyfile(run / "best.ckpt", moved / "best.ckpt")
    done = tool("eval", "-c", archive, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["word_accuracy"] == summary(run)["best"]
    done = tool("predict", "-c", archive, "--images", words / "test")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 20
    done = tool("export", "-c", archive, "--format", "mindir")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (moved / "best.mindir").exists()
    assert not (run / "best.mindir").exists()


def test_a_new_run_in_the_same_folder_keeps_the_results_of_the_first(run: Path, words: Path, tmp_path: Path) -> None:
    """Also where it starts from the archive that it writes anew."""
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


def test_the_archive_is_yaml_of_the_whole_configuration(run: Path) -> None:
    archived = yaml.safe_load((run / "train_config.yaml").read_text())
    assert archived["train"]["max_steps"] == 12
    assert archived["optimizer"]["momentum"] == 0.9
    assert archived.keys() == dict(config.load(CONFIG).values).keys()


@pytest.mark.parametrize("name", ["eval", "predict", "export"])
def test_weights_that_are_not_there_are_said_with_the_next_step(words: Path, tmp_path: Path, name: str) -> None:
    """Before anything heavy is loaded; the configuration as it is shipped, before a training."""
    shutil.copy(CONFIG, tmp_path / "my config.yaml")
    options = {"eval": [], "predict": ["--images", words / "test"], "export": []}[name]
    command = ("-c", tmp_path / "my config.yaml", "-o", f"eval.dataset.dataset_root={words}", *options)
    done = tool(name, *command, "eval.ckpt_load_path=no/best.ckpt") if not options else tool(name, *command)
    assert done.returncode == 2
    assert "error: there is no checkpoint " in done.stderr
    assert "best.ckpt (eval.ckpt_load_path, or best.ckpt of a run)" in done.stderr
    assert f"fix: train first: hccl-kit train -c '{tmp_path}/my config.yaml'" in done.stderr
    assert "or name another: -o eval.ckpt_load_path=FILE" in done.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--json", "mine.json"], "error: --json: mine.json already exists"),
        (["--json", "no/found.json"], "error: --json: the folder no does not exist"),
        (["--json", "/dev/null"], "error: --json: /dev/null is not a regular file"),
        (["--picture", "mine.png"], "error: --picture: mine.png already exists"),
        (["--picture", "r.gif"], "error: --picture r.gif: accepted are names that end in .png .jpg"),
        (["--picture", "drawn"], "error: --picture drawn: accepted are names that end in .png .jpg"),
        (["--labels", "no.txt"], "error: cannot read no.txt"),
        (["--images", "no.png"], "error: there is no image or folder no.png"),
    ],
)
def test_what_a_prediction_cannot_do_is_said_before_the_work(
    words: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("mine.json", "mine.png"):
        Path(name).write_text("mine")
    done = tool("predict", "-c", CONFIG, "--images", words / "test", *options, python=("-X", "importtime"))
    assert done.returncode == 2
    assert message in done.stderr
    assert "mindspore" not in done.stderr
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"mine.json": "mine", "mine.png": "mine"}


@pytest.mark.parametrize("name", ["train", "eval", "predict", "export", "render_words", "convert_dataset"])
def test_the_help_shows_examples_that_can_be_typed(name: str) -> None:
    """A backslash in the text would join two lines into one."""
    done = tool(name, "--help")
    lines = done.stdout.splitlines()
    text = (ROOT / "hccl_kit" / "ocr" / "programs" / f"{name}.py").read_text(encoding="utf-8")
    source = text.split('"""')[1].splitlines()
    examples = [line for line in source if f"hccl-kit {name.replace('_', '-')}" in line or line.startswith("    --")]
    assert examples
    assert set(examples) <= set(lines)
