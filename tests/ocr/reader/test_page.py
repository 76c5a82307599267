"""The size of a page in the detector, and the mapping back to page coordinates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hccl_kit.ocr.data.samples import BadSampleError
from hccl_kit.ocr.reader.page import LONGEST, MOST_PIXELS, SHORTEST, STRIDE, Image, detector_input, prepared


def image(height: int, width: int) -> Image:
    return np.full((height, width, 3), 200, np.uint8)


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 2600), st.integers(1, 2600))
def test_sides_are_within_the_limits_and_corners_are_mapped_back(height: int, width: int) -> None:
    if max(height, width) > 200 * min(height, width):
        with pytest.raises(BadSampleError, match=f"an image of {width} x {height} pixels"):
            prepared(image(height, width))
        return
    page = prepared(image(height, width))
    rows, columns = page.image.shape[0] - 2 * page.top, page.image.shape[1]
    assert min(rows, columns) >= SHORTEST
    assert columns <= 8 * page.image.shape[0] + 8
    if max(height, width) <= LONGEST and min(height, width) >= SHORTEST:
        assert (rows, columns) == (height, width)
    corners = np.array([[0, page.top], [columns, page.top + rows], [-5, 0], [columns + 5, 1e6]], np.float32)
    found = page.to_source(corners)
    assert found[0].tolist() == [0, 0]
    assert found[1] == pytest.approx([width, height], abs=1e-2)
    assert found[2].tolist() == [0, 0]
    assert found[3] == pytest.approx([width, height], abs=1e-2)


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ((1280, 675), (1408, 736)),  # the shorter side is enlarged, and 1395 is rounded to a multiple of 32
        ((800, 900), (800, 896)),  # never reduced
        ((40, 41), (736, 768)),
        ((2000, 60), (16736, 512)),  # not 736 wide: that would be 18 million pixels
    ],
)
def test_sizes_in_the_detector(size: tuple[int, int], expected: tuple[int, int]) -> None:
    images = detector_input(image(*size))
    assert images.shape == (1, 3, *expected)
    assert images.dtype == np.float32
    assert images.size <= 3 * MOST_PIXELS * 1.1
    assert images.max() == pytest.approx(200 / 127.5 - 1)


def test_a_flat_page_is_padded_and_a_small_one_enlarged() -> None:
    assert prepared(image(100, 801)).top == 50  # 100 rows, twice an eighth of 801 is 200
    assert prepared(image(100, 800)).top == 0
    small = prepared(image(20, 40))
    assert small.image.shape[1] == 2 * STRIDE
    assert small.image.shape[0] == STRIDE
    assert prepared(image(31, 40)).top == 0
    assert prepared(image(30, 40)).top == 15
