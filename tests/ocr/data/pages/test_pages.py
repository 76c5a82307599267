"""Pages as values: polygons of any length in one array, and the mapping back to the source."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.ocr.data.pages.pages import Page, Shape, pad_polygons

corners = st.tuples(st.integers(-9, 999), st.integers(-9, 999))
polygons = st.lists(st.lists(corners, min_size=3, max_size=9), max_size=6)


@given(polygons)
def test_padding_repeats_the_last_corner(polys: list[list[tuple[int, int]]]) -> None:
    padded = pad_polygons(polys)
    assert padded.dtype == np.float32
    assert padded.shape == (len(polys), max(map(len, polys), default=4), 2)
    for row, poly in zip(padded.tolist(), polys, strict=True):
        assert [tuple(corner) for corner in row[: len(poly)]] == poly
        assert all(tuple(corner) == poly[-1] for corner in row[len(poly) :])


def test_source_polygons_reverse_the_scale_of_each_axis() -> None:
    poly = [[3, 20], [6, 20], [6, 40], [3, 40]]
    page = Page(Path("a.png"), polys=pad_polygons([poly]))
    assert page.source_polys.tolist() == [poly]
    resized = replace(page, shape=Shape(100, 100, 2, 0.5))
    assert resized.source_polys.tolist() == [[[6, 10], [12, 10], [12, 20], [6, 20]]]


def test_source_coordinates_are_correct_for_a_page_decoded_at_reduced_size() -> None:
    poly = [[4, 8], [12, 8], [12, 16], [4, 16]]
    page = Page(Path("a.png"), np.zeros((10, 20, 3), np.uint8), polys=pad_polygons([poly])).reduced(4)
    assert page.polys.tolist() == [[[1, 2], [3, 2], [3, 4], [1, 4]]]
    assert page.shape == Shape(40, 80, 0.25, 0.25)
    assert page.source_polys.tolist() == [poly]
