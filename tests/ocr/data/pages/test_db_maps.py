"""Thresholds near text edges: against the literal definition, pixel by pixel, and against the reference."""

import math
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data.pages.db_maps import (
    border_map,
    draw_borders,
    edge_distances,
    shrink_binary_map,
    steps_from_edges,
)
from hccl_kit.ocr.data.pages.pages import Page, pad_polygons
from tests.ocr.reference import reference_arrays

GENERATOR = np.random.default_rng(0)
RECTANGLE = [[10, 20], [110, 20], [110, 60], [10, 60]]
ON_A_CORNER = (43, 18)
"""Row and column of a pixel where the reference divides zero by zero and treats the result as background."""

# Multiples of one half: ties of the definition are ties in any arithmetic.
corners = st.tuples(st.integers(-20, 120), st.integers(-20, 90)).map(lambda point: (point[0] / 2, point[1] / 2))


def distance(pixel: tuple[int, int], poly: list[tuple[float, float]]) -> float:
    """The distance to the nearest edge: to its line if the pixel projects onto it, else to its nearer end."""
    found = []
    for one, other in zip(poly, [*poly[1:], poly[0]], strict=True):
        a, b, c = math.dist(pixel, one), math.dist(pixel, other), math.dist(one, other)
        if c and round(4 * a * a) + round(4 * b * b) < round(4 * c * c):
            (x, y), (x2, y2) = one, other
            found.append(abs((pixel[0] - x) * (y2 - y) - (pixel[1] - y) * (x2 - x)) / c)
        else:
            found.append(min(a, b))
    return min(found)


@settings(deadline=None, max_examples=50)
@given(st.lists(corners, min_size=3, max_size=6), st.floats(1, 30))
def test_distances_match_the_definition_up_to_a_limit(poly: list[tuple[float, float]], limit: float) -> None:
    found = edge_distances(np.array(poly), (40, 50), limit=limit)
    expected = [[min(distance((x, y), poly), limit) for x in range(50)] for y in range(40)]
    np.testing.assert_allclose(found, expected, atol=2e-4)


def page_of(*polys: list[list[int]], ignored: tuple[int, ...] = ()) -> Page:
    flags = np.array([number in ignored for number in range(len(polys))], bool)
    return Page(Path(), np.zeros((80, 130, 3), np.uint8), pad_polygons(polys), ("a",) * len(polys), flags)


def drawn(page: Page, **options: Any) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    thresholds, mask = border_map(**options)(page, GENERATOR).maps
    assert thresholds.dtype == mask.dtype == np.float32
    return thresholds, mask


def test_the_threshold_rises_and_falls_linearly_across_an_edge() -> None:
    """The distance is 12 pixels; the middle is 20 pixels from both long edges."""
    thresholds, mask = drawn(page_of(RECTANGLE))
    away = np.abs(np.arange(80) - 20)[:40]
    np.testing.assert_allclose(thresholds[:40, 60], 0.3 + 0.4 * np.maximum(1 - away / 12, 0), atol=1e-6)
    assert mask[8:73, 60].all()
    assert mask.sum() == mask[8:73, :123].sum()


@given(st.floats(0, 0.45), st.floats(0.55, 1))
def test_thresholds_lie_between_their_limits(low: float, high: float) -> None:
    thresholds, _ = drawn(page_of(RECTANGLE), thresh_min=low, thresh_max=high)
    assert thresholds.min() == pytest.approx(low, abs=1e-6)
    assert thresholds.max() == pytest.approx(high, abs=1e-6)


def test_the_nearer_edge_of_two_texts_counts() -> None:
    other = [[60, 10], [100, 10], [100, 70], [60, 70]]
    [both, mask], [one, mask1], [two, mask2] = (
        drawn(page_of(*polys)) for polys in ([RECTANGLE, other], [RECTANGLE], [other])
    )
    np.testing.assert_array_equal(both, np.maximum(one, two))
    np.testing.assert_array_equal(mask, np.maximum(mask1, mask2))


def test_ignored_texts_and_texts_outside_the_image_have_no_border() -> None:
    far = (np.array(RECTANGLE) + 1000).tolist()
    flat = [[10, 20], [110, 60], [110, 60], [10, 20]]
    thresholds, mask = drawn(page_of(RECTANGLE, far, flat, ignored=(0,)))
    assert (thresholds == np.float32(0.3)).all()
    assert not mask.any()


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("by", [(-60, 0), (0, -40), (70, 50)])
def test_a_text_partly_outside_the_image_is_drawn_inside_it(by: tuple[int, int], fast: bool) -> None:
    poly = np.array([RECTANGLE], np.float32)
    whole, whole_mask = draw_borders(poly + 100, (300, 400), shrink_ratio=0.4, fast=fast)
    part, mask = draw_borders(poly + by, (80, 130), shrink_ratio=0.4, fast=fast)
    top, left = 100 - by[1], 100 - by[0]
    np.testing.assert_allclose(part, whole[top : top + 80, left : left + 130], atol=1e-6)
    np.testing.assert_array_equal(mask, whole_mask[top : top + 80, left : left + 130])


def test_the_fast_method_counts_erosions_of_a_band_along_the_edges() -> None:
    """The distance is 12: OpenCV draws a band of 25 pixels, 13 erosions deep, of which 11 are used for all."""
    thresholds, mask = drawn(page_of(RECTANGLE), fast=True, thresh_min=0, thresh_max=1)
    away = np.abs(np.arange(80) - 20)[:40]
    np.testing.assert_allclose(thresholds[:40, 60], np.clip((13 - away) / 11, 0, 1), atol=1e-6)
    slow, slow_mask = drawn(page_of(RECTANGLE), thresh_min=0, thresh_max=1)
    np.testing.assert_array_equal(mask, slow_mask)
    assert np.abs(thresholds - slow).mean() < 0.1


def test_the_fast_method_counts_a_diagonal_as_one_step() -> None:
    """The depth is the number of erosions with all eight neighbours of a pixel."""
    diamond = np.array([[60, 10], [110, 60], [60, 110], [10, 60]])
    near = steps_from_edges(diamond, (120, 120), 6)
    band, depth = (near > 0).astype(np.uint8), np.zeros((120, 120))
    for _ in range(5):
        depth += band
        band = cv2.erode(band, np.ones((3, 3), np.uint8))
    np.testing.assert_allclose(near, depth / 5, atol=1e-6)


@pytest.mark.parametrize("side", [1, 2, 3, 1 << 19])
def test_the_fast_method_works_for_any_size(side: int) -> None:
    thresholds, _ = drawn(page_of([[5, 5], [5 + side, 5], [5 + side, 5 + side], [5, 5 + side]]), fast=True)
    assert np.isfinite(thresholds).all()
    assert thresholds.min() >= np.float32(0.3)
    assert thresholds.max() <= np.float32(0.7) + 1e-6


def test_limits_must_be_in_order() -> None:
    with pytest.raises(KitError, match=r"BorderMap: thresh_min 0\.7 is not below thresh_max 0\.3"):
        border_map(thresh_min=0.7, thresh_max=0.3)


@pytest.mark.parametrize("case", ["a", "b"])
def test_maps_match_the_reference(case: str) -> None:
    values = reference_arrays("db_targets.npz")
    polys, ignored = values[f"{case}_encoded_polys"], values[f"{case}_ignore_after"]
    page = Page(Path(), np.zeros((160, 160, 3), np.uint8), polys, ("",) * len(polys), ignored)
    thresholds, mask = drawn(page)
    expected = values[f"{case}_thresh_map"]
    assert thresholds[ON_A_CORNER] == pytest.approx(0.7)
    expected[ON_A_CORNER] = thresholds[ON_A_CORNER]
    np.testing.assert_allclose(thresholds, expected, atol=1e-5)
    np.testing.assert_array_equal(mask, values[f"{case}_thresh_mask"])


SIZE = (80, 130)


def page_with(*polys: list[list[int]], ignored: tuple[int, ...] = ()) -> Page:
    flags = np.array([number in ignored for number in range(len(polys))], bool)
    return Page(Path(), np.zeros((*SIZE, 3), np.uint8), pad_polygons(polys), ("a",) * len(polys), flags)


def kernels_of(page: Page, **options: float) -> Page:
    return shrink_binary_map(**options)(page, GENERATOR)


def test_the_offset_of_a_rectangle_follows_the_formula() -> None:
    """4000 pixels * (1 - 0.4^2) / 280 pixels = 12 pixels."""
    kernels, mask = kernels_of(page_with(RECTANGLE)).maps
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
    page = page_with(poly, RECTANGLE, ignored=ignored) if not ignored else page_with(poly, ignored=ignored)
    made = kernels_of(page)
    assert made.ignored[0]
    assert made.ignored[1:].tolist() == [False] * (len(page.polys) - 1)
    (x, y), (x2, y2) = np.array(poly).min(axis=0), np.array(poly).max(axis=0)
    outside = made.maps[1].copy()
    outside[y : y2 + 1, x : x2 + 1] = 1
    assert outside.all()
    assert made.maps[1][y, x] == made.maps[1][y2, x2] == 0


def test_the_minimum_text_size_is_an_option() -> None:
    low = [[10, 20], [110, 20], [110, 27], [10, 27]]
    assert kernels_of(page_with(low)).ignored.tolist() == [True]
    assert kernels_of(page_with(low), min_text_size=7).ignored.tolist() == [False]


def test_nothing_is_drawn_outside_the_image() -> None:
    moved = (np.array(RECTANGLE) + 1000).tolist()
    kernels, mask = kernels_of(page_with(moved)).maps
    assert not kernels.any()
    assert mask.all()


def test_the_input_page_is_unchanged() -> None:
    page = page_with([[10, 20], [110, 20], [110, 27], [10, 27]])
    kernels_of(page)
    assert page.ignored.tolist() == [False]
    assert page.maps == ()


@pytest.mark.parametrize("case", ["a", "b"])
def test_kernels_match_the_reference(case: str) -> None:
    values = reference_arrays("db_targets.npz")
    polys, ignored = values[f"{case}_encoded_polys"], values[f"{case}_ignore_before"]
    page = Page(Path(), np.zeros((160, 160, 3), np.uint8), polys, ("",) * len(polys), ignored)
    made = kernels_of(page)
    np.testing.assert_array_equal(made.maps[0], values[f"{case}_binary_map"])
    np.testing.assert_array_equal(made.maps[1], values[f"{case}_mask"])
    np.testing.assert_array_equal(made.ignored, values[f"{case}_ignore_after"])
