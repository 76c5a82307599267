"""Evaluation of trained weights, in a separate process."""

import hashlib
import json
import os
import shutil
from datetime import datetime
from pathlib import Path

import cv2
import pytest

from hccl_kit.ocr.drawing import HEADER, ROW
from tests.ocr.run_tool import assert_refused, refusals, summary, together, tool

pytestmark = pytest.mark.train


def test_a_configuration_that_extends_another_uses_its_own_weights_and_names_them(
    run: Path, words: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other training has left weights too."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text("__base__: rec/crnn/crnn_small.yaml\ntrain: {ckpt_save_dir: runs/mine}\n")
    for folder, content in (("crnn_small", b"of the other training"), ("mine", (run / "best.ckpt").read_bytes())):
        (tmp_path / "runs" / folder).mkdir(parents=True)
        (tmp_path / "runs" / folder / "best.ckpt").write_bytes(content)
    best = tmp_path / "runs" / "mine" / "best.ckpt"
    os.utime(best, (0, 0))
    digest, time = hashlib.sha256(best.read_bytes()).hexdigest(), datetime.fromtimestamp(0).astimezone()
    own = ("-c", "mine.yaml")
    results = together(
        ("eval", *own, "-o", f"eval.dataset.dataset_root={words}", "--json"),
        ("predict", *own, "--images", words / "test", "--limit", 1, "--json", "found.json"),
        ("export", *own, "--format", "onnx"),
    )
    for done in results:
        assert done.returncode == 0, done.stderr
        assert f"weights: runs/mine/best.ckpt, SHA-256 {digest[:12]}..., of {time.isoformat(' ')}\n" in done.stderr
    assert json.loads(results[0].stdout)["weights"] == {
        "path": "runs/mine/best.ckpt",
        "sha256": digest,
        "time": time.isoformat(" "),
    }
    assert json.loads((tmp_path / "found.json").read_text())[0]["weights"] == [digest[:12]]
    assert best.with_name("best.onnx").is_file()


def test_the_evaluation_lists_misread_words(run: Path, tmp_path: Path) -> None:
    override = f"eval.ckpt_load_path={run / 'best.ckpt'}"
    picture = tmp_path / "worst.png"
    options = ("--wrong", "--picture", picture, "--worst", 5)
    done = tool("eval", "-c", run / "train_config.yaml", "-o", override, *options)
    assert done.returncode == 0, done.stderr
    wrong = [line.split("\t") for line in done.stdout.splitlines() if "\t" in line]
    assert len(wrong) + round(20 * summary(run)["best"]) == 20
    assert all(len(row) == 3 and row[1] != row[2] for row in wrong)
    assert f" of 20 words right ({summary(run)['best']:.2%}); standard error " in done.stdout.splitlines()[-1]
    assert f"wrote: {picture}" in done.stderr
    assert cv2.imread(str(picture)).shape[0] == HEADER + 5 * ROW


def test_a_picture_that_cannot_be_written_is_refused_before_the_evaluation(run: Path) -> None:
    command = ("eval", "-c", run / "train_config.yaml")
    picture, worst = refusals((*command, "--picture", "a.txt"), (*command, "--worst", 0))
    assert "--picture a.txt: accepted: names that end in .png" in picture
    assert "--worst is 0; accepted: 1 to 200" in worst


def test_an_evaluation_that_cannot_run_reports_the_reason(run: Path) -> None:
    command = ("eval", "-c", run / "train_config.yaml", "-o", f"eval.ckpt_load_path={run / 'best.ckpt'}")
    weights, images = refusals(
        (*command, "eval.ckpt_load_path=/dev/zero"), (*command, "eval.dataset.data_dir=."), heavy=()
    )
    assert "there is no checkpoint /dev/zero" in weights
    assert "none of the 20 images of the evaluation can be read" in images


@pytest.mark.long
def test_the_archive_finds_the_weights_in_its_folder_also_after_a_move(run: Path, words: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(run, moved)
    archive = moved / "train_config.yaml"
    (moved / "best.ckpt").write_bytes(b"damaged")  # shows which file is read
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
