"""Box counts: the ICDAR protocol on cases that can be counted by hand, and sums over any partition."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hccl_kit.ocr.metrics.boxes import BoxCounts, compare, match
from tests.ocr.reference import REFERENCE

Quad = NDArray[np.float32]
numbers = st.integers(0, 30)
quads = st.builds(lambda x, y, w, h: quad(x, y, w + 1, h + 1), numbers, numbers, numbers, numbers)


def quad(x: float, y: float, width: float, height: float) -> Quad:
    return np.array([[x, y], [x + width, y], [x + width, y + height], [x, y + height]], np.float32)


def counts(
    boxes: list[Quad], texts: list[Quad], ignored: tuple[int, ...] = (), *, duplicates: bool = False
) -> BoxCounts:
    flags = np.array([number in ignored for number in range(len(texts))], bool)
    return compare(boxes, np.array(texts, np.float32).reshape(-1, 4, 2), flags, count_duplicates=duplicates)


@given(st.lists(quads, max_size=6), st.booleans())
def test_each_text_is_found_at_most_once(boxes: list[Quad], duplicates: bool) -> None:
    texts = [quad(0, 0, 20, 10), quad(5, 5, 20, 10), quad(40, 40, 5, 5)]
    found = counts(boxes, texts, duplicates=duplicates)
    assert found.texts == 3
    assert 0 <= found.found <= 3
    assert 0 <= found.false <= len(boxes) - found.found
    if duplicates:
        assert found.found + found.false == len(boxes)


@given(st.lists(quads, max_size=6), st.sets(st.integers(0, 2)), st.booleans())
def test_the_counts_match_the_listed_texts_and_boxes(boxes: list[Quad], ignored: set[int], duplicates: bool) -> None:
    texts = [quad(0, 0, 20, 10), quad(5, 5, 20, 10), quad(40, 40, 5, 5)]
    flags = np.array([number in ignored for number in range(3)], bool)
    matches = match(boxes, np.array(texts), flags, count_duplicates=duplicates)
    found, false = matches.found, matches.false
    assert (found.shape, false.shape) == ((3,), (len(boxes),))
    assert not found[flags].any()
    assert not false[matches.box_of_text[found]].any()
    assert counts(boxes, texts, tuple(ignored), duplicates=duplicates) == BoxCounts(
        3 - len(ignored), found.sum(), false.sum()
    )


def test_found_texts_and_false_boxes_are_listed() -> None:
    texts = np.array([quad(0, 0, 20, 10), quad(30, 0, 20, 10), quad(60, 0, 20, 10)])
    boxes = [quad(90, 0, 20, 10), texts[2], texts[0], texts[1]]
    box_of_text, false = match(boxes, texts, np.array([False, True, False]))
    assert box_of_text.tolist() == [2, -1, 1]
    assert false.tolist() == [True, False, False, False]


@pytest.mark.parametrize("duplicates", [False, True])
def test_a_text_belongs_to_the_first_of_two_boxes_on_it(duplicates: bool) -> None:
    text = quad(0, 0, 20, 10)
    boxes = [quad(90, 0, 20, 10), text, text]
    matches = match(boxes, np.array([text]), np.array([False]), count_duplicates=duplicates)
    assert matches.box_of_text.tolist() == [1]
    assert matches.false.tolist() == [True, False, duplicates]


@pytest.mark.parametrize("duplicates", [False, True])
def test_all_texts_are_found_by_their_own_polygons(duplicates: bool) -> None:
    texts = [quad(0, 0, 20, 10), quad(30, 0, 20, 10), quad(0, 30, 20, 10)]
    assert counts(texts[::-1], texts, duplicates=duplicates) == BoxCounts(3, 3, 0)
    assert counts([], texts, duplicates=duplicates) == BoxCounts(3, 0, 0)
    assert counts(texts, [], duplicates=duplicates) == BoxCounts(0, 0, 3)
    assert counts([], [], duplicates=duplicates) == BoxCounts()


def test_an_overlap_of_one_half_is_not_enough() -> None:
    text = quad(0, 0, 20, 10)
    assert counts([quad(0, 0, 10, 10)], [text]) == BoxCounts(1, 0, 1)
    assert counts([quad(0, 0, 10.1, 10)], [text]) == BoxCounts(1, 1, 0)


def test_boxes_on_ignored_texts_do_not_count() -> None:
    """More than half of the box must overlap an ignored text; the covered share of that text does not matter."""
    big = quad(0, 0, 100, 100)
    assert counts([quad(5, 5, 10, 10)], [big], ignored=(0,)) == BoxCounts(0, 0, 0)
    assert counts([quad(-5, 0, 10, 10)], [big], ignored=(0,)) == BoxCounts(0, 0, 1)
    assert counts([quad(-4.9, 0, 10, 10)], [big], ignored=(0,)) == BoxCounts(0, 0, 0)
    beside = quad(0, 100, 100, 100)
    assert counts([quad(0, 94, 10, 12)], [big, beside], ignored=(0, 1)) == BoxCounts(0, 0, 1)
    assert counts([big], [big, big], ignored=(1,)) == BoxCounts(1, 0, 0)


def test_a_second_box_on_a_text_counts_only_for_icdar() -> None:
    text = quad(0, 0, 20, 10)
    assert counts([text, text + 1], [text]) == BoxCounts(1, 1, 0)
    assert counts([text, text + 1], [text], duplicates=True) == BoxCounts(1, 1, 1)
    # If two texts overlap, the second box may match the second text.
    assert counts([text, text], [text, text]) == BoxCounts(2, 1, 0)
    assert counts([text, text], [text, text], duplicates=True) == BoxCounts(2, 2, 0)


def test_degenerate_polygons_cause_no_error() -> None:
    point, crossed = quad(3, 3, 0, 0), quad(0, 0, 20, 10)[[0, 2, 1, 3]]
    assert counts([point, crossed], [quad(0, 0, 20, 10)]) == BoxCounts(1, 0, 2)
    assert counts([quad(0, 0, 20, 10)], [point, crossed]) == BoxCounts(2, 0, 1)
    assert counts([crossed], [crossed]) == BoxCounts(1, 1, 0)
    padded = quad(0, 0, 20, 10)[[0, 1, 2, 3, 3, 3]]
    assert compare([quad(0, 0, 20, 10)], padded[None], np.zeros(1, bool)) == BoxCounts(1, 1, 0)


@given(st.lists(st.tuples(quads, quads)), st.integers(1, 4))
def test_counts_of_parts_add_up_to_those_of_the_whole(pages: list[tuple[Quad, Quad]], ranks: int) -> None:
    each = [counts([box], [text]) for box, text in pages]
    whole = sum(each, BoxCounts())
    parts = [sum(each[rank::ranks], BoxCounts()).to_array() for rank in range(ranks)]
    assert BoxCounts.from_array(np.sum(parts, axis=0)) == whole


def test_recall_precision_and_h_mean() -> None:
    some = BoxCounts(texts=15, found=12, false=4)
    assert str(some) == "12 of 15 found, 4 false: h-mean 77.42%"
    assert some.row() == {
        "texts": 15,
        "found": 12,
        "false": 4,
        "recall": 0.8,
        "precision": 0.75,
        "f-score": pytest.approx(2 * 0.8 * 0.75 / (0.8 + 0.75)),
    }
    assert [some.score(name) for name in ("recall", "precision")] == [0.8, 0.75]
    assert BoxCounts().row() == dict.fromkeys(some.row(), 0)


def test_scores_match_the_reference() -> None:
    values = json.loads((REFERENCE / "metrics_and_labels.json").read_text())["det"]
    pages = [values["image1"], values["image2"]]
    each = [
        compare([np.array(box) for box in page["pred"]], np.array(page["gt"]), np.array(page["ignore"]))
        for page in pages
    ]
    assert each[0] == BoxCounts(3, 2, 2)
    for counted, name in ((each[0], "eval_image1_only"), (each[0] + each[1], "eval_both")):
        assert {key: counted.score(key) for key in values[name]} == pytest.approx(values[name])
