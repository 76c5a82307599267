"""Prediction on lines, in a separate process."""

import hashlib
import json
import shutil
from pathlib import Path

import cv2
import numpy as np
import pytest

from hccl_kit.ocr import drawing
from tests.ocr.run_tool import CONFIG, assert_refused, refusals, together

pytestmark = pytest.mark.train


def test_predictions_are_written_as_lines_and_as_a_picture_also_of_damaged_images(
    run: Path, words: Path, tmp_path: Path
) -> None:
    """If there are no others, it is an error. A file may have any name."""
    images, drawn, bad = tmp_path / "images", tmp_path / "readings.png", tmp_path / "bad" / "bad\x1b\udcff.png"
    shutil.copytree(words / "test", images)
    bad.parent.mkdir()
    for path in (images / "00003.png", bad):
        path.write_bytes(b"damaged")
    own = ("predict", "-c", run / "train_config.yaml", "-o", f"eval.ckpt_load_path={run / 'best.ckpt'}")
    done, damaged = together(
        (*own, "--images", images, "--labels", words / "test_gt.txt", "--picture", drawn),
        (*own, "--images", bad.parent, "--json", tmp_path / "found.json"),
    )
    assert_refused(done, 1, "1 of 20 images could not be read")
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert [Path(row[0]).name for row in rows] == [f"{n:05}.png" for n in range(20)]
    truths = [line.split("\t")[1] for line in (words / "test_gt.txt").read_text().splitlines()]
    assert [row[3] for row in rows] == truths
    assert rows[3][1:3] == ["", ""]
    assert all(0 <= float(row[2]) <= 1 for n, row in enumerate(rows) if n != 3)
    reason = "not an image that OpenCV reads"
    assert f"warning: {images}/00003.png could not be read: {reason}" in done.stderr
    image = cv2.imdecode(np.fromfile(drawn, np.uint8), cv2.IMREAD_COLOR)
    assert image.shape[0] == drawing.HEADER + 20 * drawing.ROW

    assert_refused(damaged, 2, "none of the 1 images could be read")
    assert damaged.stdout == f"{bad.parent}/bad\\x1b\\udcff.png\t\t\n"
    (row,) = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    weights = [hashlib.sha256((run / "best.ckpt").read_bytes()).hexdigest()[:12]]
    assert row == {"path": str(bad), "text": None, "confidence": None, "error": reason, "weights": weights}


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
