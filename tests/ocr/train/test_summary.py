"""The comparison at the end of a fine-tuning: scores of the initial weights, of best.ckpt, and of the last weights."""

from typing import Any

import pytest

from hccl_kit.ocr.train.summary import comparison, gain


def row(accuracy: float, distance: float, **more: Any) -> dict[str, Any]:
    return {
        "words": 20,
        "right": round(20 * accuracy),
        "word_accuracy": accuracy,
        "norm_edit_distance": distance,
        **more,
    }


@pytest.mark.parametrize(("indicator", "best"), [("acc", 3), ("norm_edit_distance", 6)])
def test_the_best_evaluation_is_selected_by_the_indicator(indicator: str, best: int) -> None:
    """Another score of an earlier evaluation may have the same value by chance."""
    rows = {0: row(0.25, 0.5), 3: row(0.5, 0.75), 6: row(0.45, 0.8), 9: row(0.4, 0.7)}
    compared = comparison(rows, rows[9], indicator)
    assert compared == {"before": rows[0], "best": rows[best], "last": rows[9]}
    assert list(compared) == ["before", "best", "last"]


def test_the_first_of_equal_evaluations_is_kept() -> None:
    rows = {0: row(0.5, 0.6), 3: row(0.5, 0.9)}
    assert comparison(rows, rows[3], "acc")["best"] == rows[0]


@pytest.mark.parametrize("name", ["f-score", "recall"])
def test_detection_has_its_own_scores(name: str) -> None:
    rows = {step: {"texts": 4, "f-score": score, "recall": 1 - score} for step, score in ((0, 0.2), (2, 0.6))}
    assert comparison(rows, rows[2], name)["best"] == rows[2 if name == "f-score" else 0]


def test_direction_classification_has_an_accuracy() -> None:
    rows = {0: {"images": 4, "accuracy": 0.5}, 2: {"images": 4, "accuracy": 0.75}}
    assert comparison(rows, rows[2], "acc")["best"] == rows[2]


def test_the_evaluation_before_the_first_step_can_be_disabled() -> None:
    assert comparison({6: row(1, 1)}, row(1, 1), "acc") == {}


@pytest.mark.parametrize(
    ("before", "best", "words"),
    [
        (0.5, 0.5, "not better than the start: best.ckpt holds the weights of the start"),
        (0.5, 0.55, "word_accuracy is 0.0500 better than at the start, less than twice its standard error of 0.1118: "),
        (0.5, 0.9, "word_accuracy is 0.4000 better than at the start"),
    ],
)
def test_a_gain_is_not_reported_better_than_it_is(before: float, best: float, words: str) -> None:
    rows = {0: row(before, 0.5, standard_error=0.1), 3: row(best, 0.5, standard_error=0.05)}
    said = gain(comparison(rows, rows[3], "acc"), "acc")
    assert said.startswith(words)
    assert ("this may be chance" in said) == (best == 0.55)


def test_a_score_without_a_standard_error_is_compared_alone() -> None:
    rows = {0: row(0.5, 0.5, standard_error=0.1), 3: row(0.5, 0.51, standard_error=0.1)}
    said = gain(comparison(rows, rows[3], "norm_edit_distance"), "norm_edit_distance")
    assert said == "norm_edit_distance is 0.0100 better than at the start"
