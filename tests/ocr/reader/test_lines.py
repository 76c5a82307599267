"""Batches of lines: each line occurs once, in groups of similar width, padded with zeros."""

from __future__ import annotations

from math import ceil

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hccl_kit.ocr.reader.lines import GROUP, HEIGHT, MOST_COLUMNS, WIDTH, batches
from hccl_kit.ocr.reader.page import Image


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
