"""The size of a page in the detector, and the mapping back to page coordinates."""

from __future__ import annotations

from math import ceil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hccl_kit.ocr.data.samples import BadSampleError
from hccl_kit.ocr.reader.page import (
    GROUP,
    HEIGHT,
    LONGEST,
    MOST_COLUMNS,
    MOST_PIXELS,
    SHORTEST,
    STRIDE,
    WIDTH,
    Image,
    batches,
    detector_input,
    prepared,
)


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


def line(height: int, width: int) -> Image:
    return np.full((height, width, 3), 255, np.uint8)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.integers(1, 60), st.integers(1, 900)), max_size=20))
def test_each_line_is_in_one_batch_with_lines_of_similar_width(sizes: list[tuple[int, int]]) -> None:
    made = list(batches([line(*size) for size in sizes]))
    assert sorted(number for batch in made for number in batch.numbers) == list(range(len(sizes)))
    ratios = [sizes[number][1] / sizes[number][0] for batch in made for number in batch.numbers]
    assert ratios == sorted(ratios)
    for batch in made:
        count, channels, height, columns = batch.images.shape
        assert (channels, height) == (3, HEIGHT)
        assert 1 <= count <= GROUP
        assert columns >= WIDTH
        assert count == 1 or count * columns <= MOST_COLUMNS
        for number, image in zip(batch.numbers, batch.images, strict=True):
            rows, wide = sizes[number]
            inner = min(columns, ceil(HEIGHT * wide / rows))
            assert (image[:, :, :inner] == 1).all()  # white
            assert (image[:, :, inner:] == 0).all()  # after normalisation


def test_all_parts_of_a_group_have_the_width_of_its_widest_line() -> None:
    sizes = [(48, 100), *[(48, 8000)] * 4, (48, 9001), (48, 20000)]
    made = list(batches([line(*size) for size in sizes]))
    assert [batch.images.shape[3] for batch in made] == [9001] * 6 + [20000]


def test_directions_have_one_width() -> None:
    made = list(batches([line(48, 100), line(48, 4000), line(10, 10)], width=192))
    assert [batch.images.shape for batch in made] == [(3, 3, 48, 192)]
    assert (made[0].images[2] == 1).all()  # the longest line is compressed
    assert (made[0].images[0, :, :, 48:] == 0).all()


def test_no_lines_give_no_batches() -> None:
    assert list(batches([])) == []
