"""The picture of readings: every row has its line, what is wrong is red."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hccl_kit.ocr import drawing
from hccl_kit.ocr.drawing import Row, draw

WIDTH = drawing.IMAGE_WIDTH + drawing.TEXT_WIDTH


def gray(height: int, width: int) -> NDArray[np.uint8]:
    return np.full((height, width, 3), 128, np.uint8)


def tints(image: NDArray[np.uint8]) -> set[str]:
    """The colours in which something is written; thin strokes are never of the full colour."""
    blue, green, red = image.astype(int).transpose(2, 0, 1)
    found = {"green": green - red, "red": red - green, "blue": blue - red}
    return {name for name, excess in found.items() if excess.max() > 50}


@pytest.mark.parametrize(("truth", "colours"), [("word", {"green"}), ("sword", {"red"}), (None, set())])
def test_the_colour_tells_right_from_wrong(truth: str | None, colours: set[str]) -> None:
    drawn = draw([Row(gray(32, 100), "word", 0.9, truth)])
    assert tints(drawn) == colours
    assert drawn.min() < 100


def test_the_truth_stands_beside_what_was_misread_only() -> None:
    right, wrong = (draw([Row(gray(32, 100), "word", 0.9, truth)]) for truth in ("word", "sword"))
    place = drawing.IMAGE_WIDTH + 260
    assert (right[:, place:] == 255).all()
    assert (wrong[:, place:] != 255).any()


@given(st.integers(1, 300), st.integers(1, 600), st.text(max_size=20))
@settings(max_examples=50, deadline=None)
def test_any_image_and_text_fit_their_line(height: int, width: int, text: str) -> None:
    drawn = draw([Row(gray(height, width), text, 1.0, None)])
    assert drawn.shape == (drawing.ROW, WIDTH, 3)
    assert (drawn[4, 4] == 128).all()


def test_no_rows_are_an_empty_line() -> None:
    assert (draw([]) == 255).all()


def test_the_picture_ends_after_its_most_rows() -> None:
    rows = [Row(gray(8, 8), "a", 1.0)] * (drawing.MAX_ROWS + 1)
    assert draw(rows).shape == (drawing.MAX_ROWS * drawing.ROW, WIDTH, 3)


def test_an_image_of_a_network_can_be_looked_at() -> None:
    """Red first and in any range becomes blue first, from 0 to 255."""
    image = np.zeros((3, 4, 5), np.float32)
    image[0] = 2.0
    image[2] = -2.0
    seen = drawing.visible(image)
    assert seen.shape == (4, 5, 3)
    assert seen.dtype == np.uint8
    assert (seen == (0, 127, 255)).all()
    assert (drawing.visible(np.full((3, 4, 5), 7, np.float32)) == 0).all()
