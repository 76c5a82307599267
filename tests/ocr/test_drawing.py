"""Pictures of readings, labels, pages and targets: each with a header, natural colours, and misreadings in red."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hccl_kit.ocr import drawing
from hccl_kit.ocr.drawing import COLUMNS, HEADER, ROW, ComparedPage, Row, draw

WIDTH = sum(COLUMNS)


def gray(height: int, width: int) -> NDArray[np.uint8]:
    return np.full((height, width, 3), 128, np.uint8)


def tints(image: NDArray[np.uint8]) -> set[str]:
    """The colours of the text; thin strokes never have the full colour."""
    blue, green, red = image.astype(int).transpose(2, 0, 1)
    found = {"green": green - red, "red": red - green, "blue": blue - red}
    return {name for name, excess in found.items() if excess.max() > 50}


@pytest.mark.parametrize(("truth", "colours"), [("word", {"green"}), ("sword", {"red"}), (None, set())])
def test_the_colour_distinguishes_correct_from_wrong_readings(truth: str | None, colours: set[str]) -> None:
    drawn = draw([Row(gray(32, 100), "word", 0.9, truth)])[HEADER:]
    assert tints(drawn) == colours
    assert drawn.min() < 100


def test_the_ground_truth_is_drawn_for_misread_texts_only() -> None:
    right, wrong = (draw([Row(gray(32, 100), "word", 0.9, truth)]) for truth in ("word", "sword"))
    place = sum(COLUMNS[:3])
    assert (right[HEADER:, place:] == 255).all()
    assert (wrong[HEADER:, place:] != 255).any()


@given(st.integers(1, 300), st.integers(1, 600), st.text(max_size=20))
@settings(max_examples=50, deadline=None)
def test_any_image_and_text_fit_their_line(height: int, width: int, text: str) -> None:
    drawn = draw([Row(gray(height, width), text, 1.0, None)])
    assert drawn.shape == (HEADER + ROW, WIDTH, 3)
    assert (drawn[HEADER + 4, 4] == 128).all()
    assert (drawn[HEADER:, -2:] == 255).all(), "texts stay in their columns"


def test_without_rows_there_is_only_a_header() -> None:
    assert draw([]).shape == (HEADER, WIDTH, 3)


def test_the_legend_is_only_drawn_for_readings_with_a_ground_truth() -> None:
    row = Row(gray(32, 100), "word", 0.9)
    assert tints(draw([row])[:HEADER]) == set()
    assert tints(draw([replace(row, truth="word")])[:HEADER]) == {"green", "red"}


def test_labels_have_no_confidence() -> None:
    drawn = drawing.draw_labels([gray(32, 100)] * 2, ["one", "two"])
    assert drawn.shape == (HEADER + 2 * ROW, sum(COLUMNS[:2]), 3)


def test_readings_are_drawn_to_the_right_of_their_page() -> None:
    points = np.array([[20, 20], [80, 20], [80, 40], [20, 40]])
    assert drawing.draw_page(gray(60, 100), [(points, "")]).shape == (HEADER + 60, 100, 3)
    drawn = drawing.draw_page(gray(60, 100), [(points, "word")])
    assert drawn.shape == (HEADER + 60, 200, 3)
    assert (drawn[HEADER:, 100:].min(axis=2) < 100).any()
    assert tints(drawn[HEADER:, :100]) == {"green"}


def test_the_picture_has_a_maximum_number_of_rows() -> None:
    rows = [Row(gray(8, 8), "a", 1.0)] * (drawing.MAX_ROWS + 1)
    assert draw(rows).shape == (HEADER + drawing.MAX_ROWS * ROW, WIDTH, 3)


def page(name: str = "", height: int = 60, width: int = 100) -> ComparedPage:
    """A grey page with one text of the kind `name`, starting at (10, 10)."""
    kinds = dict.fromkeys(("found", "missed", "ignored", "false"), ())
    points = np.array([[10, 10], [width - 10, 10], [width - 10, height - 10], [10, height - 10]])
    return ComparedPage(
        gray(height, width), "page.png: 0 of 1 found", **{**kinds, **({name: (points,)} if name else {})}
    )


@pytest.mark.parametrize(
    ("kind", "colours"),
    [("found", {"green"}), ("missed", {"red"}), ("false", {"blue"}), ("ignored", set()), ("", set())],
)
def test_outlines_of_a_page_have_the_colour_of_the_legend(kind: str, colours: set[str]) -> None:
    drawn = drawing.draw_comparisons([page(kind)])
    assert tints(drawn[2 * HEADER :]) == colours
    assert tints(drawn[:HEADER]) >= colours
    assert (drawn[2 * HEADER + 10, 10:90].max(axis=1) != 128).all() == bool(kind)


@given(st.lists(st.tuples(st.integers(1, 900), st.integers(1, 1500)), max_size=5))
@settings(max_examples=30, deadline=None)
def test_pages_of_any_size_are_in_two_columns(sizes: list[tuple[int, int]]) -> None:
    drawn = drawing.draw_comparisons(page("missed", *size) for size in sizes)
    assert drawn.shape[1] == 2 * drawing.PAGE
    rows = (len(sizes) + 1) // 2
    assert HEADER * (1 + rows) + rows <= len(drawn) <= HEADER + rows * (HEADER + drawing.PAGE)


def test_a_large_page_is_scaled_down_with_its_outlines() -> None:
    drawn = drawing.draw_comparisons([page("missed", 600, 1280)])
    assert drawn.shape == (2 * HEADER + 300, 1280, 3)
    red = drawn.astype(int)[..., 2] - drawn[..., 1] > 50
    assert red[2 * HEADER + 295, 5:630].all()
