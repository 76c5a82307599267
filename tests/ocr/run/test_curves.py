"""The picture of a run: the values of metrics.jsonl that have a panel; other content is ignored."""

import json
from pathlib import Path

import cv2
import pytest
from matplotlib.figure import Figure

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


def test_the_speed_starts_at_0_and_the_best_evaluation_is_marked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Checked in the axes of matplotlib: the first of two equal values is the best."""
    figures: list[Figure] = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: figures.append(figure))
    speeds = [{"step": step, "samples_per_s": 100.0 + step} for step in (1, 2)]
    scores = [{"step": 6 * step, "f-score": score} for step, score in enumerate((0.5, 0.75, 0.75), 1)]
    (tmp_path / "metrics.jsonl").write_text(lines(*speeds, *scores))
    curves.draw(tmp_path / "metrics.jsonl", tmp_path / "curves.png", indicator="f-score")
    speed, evaluation = figures[0].axes
    assert speed.get_ylim()[0] == 0
    legend = evaluation.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["f-score", "best: 0.7500 after step 12"]


def test_the_scale_is_that_of_what_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A loss of 900 in the first steps does not flatten the rest, and scores from 0.82 to 0.86 fill their panel."""
    figures: list[Figure] = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: figures.append(figure))
    losses = [{"step": step, "loss": 900.0 if step <= 10 else 2.0 - step / 100} for step in range(1, 101)]
    scores = [{"step": 25 * number, "word_accuracy": 0.82 + number / 100} for number in range(5)]
    (tmp_path / "metrics.jsonl").write_text(lines(*losses, *scores))
    curves.draw(tmp_path / "metrics.jsonl", tmp_path / "curves.png")
    loss, evaluation = figures[0].axes
    assert 0.9 < loss.get_ylim()[0] < 1 < 1.89 < loss.get_ylim()[1] < 2.1
    assert 0.8 < evaluation.get_ylim()[0] < 0.82 < 0.86 < evaluation.get_ylim()[1] < 0.88
    assert figures[0].get_suptitle() == tmp_path.name
    for axes in figures[0].axes:
        assert (legend := axes.get_legend()) is not None
        assert all(text.get_text() for text in legend.get_texts())


@pytest.mark.parametrize("indicator", ["acc", "f-score", None])
def test_any_indicator_may_be_marked(tmp_path: Path, indicator: str | None) -> None:
    (tmp_path / "metrics.jsonl").write_text(lines(*ROWS))
    curves.draw(tmp_path / "metrics.jsonl", tmp_path / "curves.png", indicator=indicator)
    assert cv2.imread(str(tmp_path / "curves.png")) is not None


def test_there_is_a_panel_for_every_kind_of_value(tmp_path: Path) -> None:
    whole = picture(tmp_path, lines(*ROWS))
    assert whole[0] > picture(tmp_path, lines(*ROWS[:1]))[0], "two rows of panels and one"
    assert whole[1] > 1000


@pytest.mark.parametrize(
    "text", ["", "{", '{"step": 1}\n', lines([], {"loss": 1}, {"step": "x", "loss": 1}, {"step": 1, "loss": -1.0})]
)
def test_lines_that_are_not_valid_are_skipped(tmp_path: Path, text: str) -> None:
    assert picture(tmp_path, text)[2] == 3
