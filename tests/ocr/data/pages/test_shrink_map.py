"""Kernels of texts: the kernel of a rectangle, ignored texts, and the maps of the reference."""

from pathlib import Path

import numpy as np
import pytest

from hccl_kit.ocr.data.pages.pages import Page, pad_polygons
from hccl_kit.ocr.data.pages.shrink_map import shrink_binary_map
from tests.ocr.reference import reference_arrays

GENERATOR = np.random.default_rng(0)
SIZE = (80, 130)
RECTANGLE = [[10, 20], [110, 20], [110, 60], [10, 60]]


def page_of(*polys: list[list[int]], ignored: tuple[int, ...] = ()) -> Page:
    flags = np.array([number in ignored for number in range(len(polys))], bool)
    return Page(Path(), np.zeros((*SIZE, 3), np.uint8), pad_polygons(polys), ("a",) * len(polys), flags)


def drawn(page: Page, **options: float) -> Page:
    return shrink_binary_map(**options)(page, GENERATOR)


def test_the_offset_of_a_rectangle_follows_the_formula() -> None:
    """4000 pixels * (1 - 0.4^2) / 280 pixels = 12 pixels."""
    kernels, mask = drawn(page_of(RECTANGLE)).maps
    expected = np.zeros((1, *SIZE), np.float32)
    expected[0, 32:49, 22:99] = 1
    np.testing.assert_array_equal(kernels, expected)
    assert kernels.dtype == mask.dtype == np.float32
    assert mask.shape == SIZE
    assert mask.all()


@pytest.mark.parametrize(
    ("poly", "ignored"),
    [
        (RECTANGLE, (0,)),
        ([[10, 20], [110, 20], [110, 27], [10, 27]], ()),
        ([[10, 20], [17, 20], [17, 60], [10, 60]], ()),
        ([[10, 20], [110, 60], [110, 60], [10, 20]], ()),
    ],
    ids=["ignored", "low", "narrow", "without area"],
)
def test_texts_that_cannot_be_learnt_are_masked_and_ignored(poly: list[list[int]], ignored: tuple[int, ...]) -> None:
    page = page_of(poly, RECTANGLE, ignored=ignored) if not ignored else page_of(poly, ignored=ignored)
    made = drawn(page)
    assert made.ignored[0]
    assert made.ignored[1:].tolist() == [False] * (len(page.polys) - 1)
    (x, y), (x2, y2) = np.array(poly).min(axis=0), np.array(poly).max(axis=0)
    outside = made.maps[1].copy()
    outside[y : y2 + 1, x : x2 + 1] = 1
    assert outside.all()
    assert made.maps[1][y, x] == made.maps[1][y2, x2] == 0


def test_the_minimum_text_size_is_an_option() -> None:
    low = [[10, 20], [110, 20], [110, 27], [10, 27]]
    assert drawn(page_of(low)).ignored.tolist() == [True]
    assert drawn(page_of(low), min_text_size=7).ignored.tolist() == [False]


def test_nothing_is_drawn_outside_the_image() -> None:
    moved = (np.array(RECTANGLE) + 1000).tolist()
    kernels, mask = drawn(page_of(moved)).maps
    assert not kernels.any()
    assert mask.all()


def test_the_input_page_is_unchanged() -> None:
    page = page_of([[10, 20], [110, 20], [110, 27], [10, 27]])
    drawn(page)
    assert page.ignored.tolist() == [False]
    assert page.maps == ()


@pytest.mark.parametrize("case", ["a", "b"])
def test_maps_match_the_reference(case: str) -> None:
    values = reference_arrays("db_targets.npz")
    polys, ignored = values[f"{case}_encoded_polys"], values[f"{case}_ignore_before"]
    page = Page(Path(), np.zeros((160, 160, 3), np.uint8), polys, ("",) * len(polys), ignored)
    made = drawn(page)
    np.testing.assert_array_equal(made.maps[0], values[f"{case}_binary_map"])
    np.testing.assert_array_equal(made.maps[1], values[f"{case}_mask"])
    np.testing.assert_array_equal(made.ignored, values[f"{case}_ignore_after"])
