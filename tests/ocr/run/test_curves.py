"""The picture of a run: every figure of metrics.jsonl that it has a panel for, whatever else stands there."""

import json
from pathlib import Path

import cv2
import pytest

from hccl_kit.ocr.run import curves

ROWS = [
    {"step": 10, "loss": 3.0, "lr": 1e-3, "samples_per_s": None},
    {"step": 20, "loss": 0.5, "lr": 5e-4, "samples_per_s": 120.5},
    {"step": 20, "word_accuracy": 0.5, "words": 10},
]


def picture(folder: Path, text: str) -> tuple[int, ...]:
    (folder / "metrics.jsonl").write_text(text)
    curves.draw(folder / "metrics.jsonl", folder / "curves.png")
    image = cv2.imread(str(folder / "curves.png"))
    assert image is not None
    return tuple(image.shape)


def lines(*rows: object) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_a_panel_for_every_kind_of_figure(tmp_path: Path) -> None:
    whole = picture(tmp_path, lines(*ROWS))
    assert whole[0] > picture(tmp_path, lines(*ROWS[:1]))[0], "two rows of panels and one"
    assert whole[1] > 1000


@pytest.mark.parametrize(
    "text", ["", "{", '{"step": 1}\n', lines([], {"loss": 1}, {"step": "x", "loss": 1}, {"step": 1, "loss": -1.0})]
)
def test_lines_that_are_none_are_passed_over(tmp_path: Path, text: str) -> None:
    assert picture(tmp_path, text)[2] == 3
