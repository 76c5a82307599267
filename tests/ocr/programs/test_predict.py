"""Prediction on lines, in a separate process."""

import hashlib
import json
import shutil
from pathlib import Path

import cv2
import numpy as np
import pytest

from hccl_kit.ocr import drawing
from tests.ocr.run_tool import CONFIG, assert_refused, refusals, tool

pytestmark = pytest.mark.train


def test_predictions_are_written_as_lines_and_as_a_picture(run: Path, words: Path, tmp_path: Path) -> None:
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


def test_a_prediction_on_damaged_images_only_is_an_error(run: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.png").write_bytes(b"damaged")
    options = ("-c", run / "train_config.yaml", "-o", f"eval.ckpt_load_path={run / 'best.ckpt'}")
    (tmp_path / "bad.png").rename(tmp_path / "bad\x1b\udcff.png")
    done = tool("predict", *options, "--images", tmp_path, "--json", tmp_path / "found.json")
    assert_refused(done, 2, "none of the 1 images could be read")
    assert done.stdout == f"{tmp_path}/bad\\x1b\\udcff.png\t\t\n", "a file may have any name"
    (row,) = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    path, error = f"{tmp_path}/bad\x1b\udcff.png", "not an image that OpenCV reads"
    weights = [hashlib.sha256((run / "best.ckpt").read_bytes()).hexdigest()[:12]]
    assert row == {"path": path, "text": None, "confidence": None, "error": error, "weights": weights}


def test_an_invalid_request_is_an_error_before_the_prediction(
    words: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cases = {
        ("--json", "mine.json"): "error: --json: mine.json already exists",
        ("--picture", "r.gif"): "error: --picture r.gif: accepted: names that end in .png .jpg",
        ("--labels", "no.txt"): "error: cannot read no.txt",
        ("--images", "no.png"): "error: there is no image or folder no.png",
    }
    for name in ("mine.json", "mine.png"):
        Path(name).write_text("mine")
    commands = [("predict", "-c", CONFIG, "--images", words / "test", *options) for options in cases]
    for message, errors in zip(cases.values(), refusals(*commands), strict=True):
        assert message in errors
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"mine.json": "mine", "mine.png": "mine"}
