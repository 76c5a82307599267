"""EASTProcessTrain: crops that cut no text, and the distances to the edges at every pixel of a text."""

import math
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from shapely import Polygon, box

from hccl_kit.ocr.data.pages.east_maps import best_angle, draw_geometry, east_process_train, four_corners, shrunk
from hccl_kit.ocr.data.pages.pages import Page, pad_polygons
from hccl_kit.ocr.polygons import clockwise

TEXT = [[400, 300], [560, 300], [560, 340], [400, 340]]


def rotated(centre: tuple[float, float], size: tuple[float, float], degrees: float) -> NDArray[np.float32]:
    return clockwise(np.asarray(cv2.boxPoints((centre, size, degrees)), np.float32))


def page_of(*polys: list[list[int]], ignored: tuple[int, ...] = (), height: int = 700, width: int = 1000) -> Page:
    """A black page whose texts are white."""
    quads = pad_polygons(polys)
    image = np.zeros((height, width, 3), np.uint8)
    cv2.fillPoly(image, list(quads.astype(np.int32)), (255, 255, 255))
    flags = np.array([number in ignored for number in range(len(polys))], bool)
    return Page(Path("page.png"), image, quads, ("word",) * len(polys), flags)


def drawn(*polys: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    return draw_geometry(pad_polygons(polys), np.zeros(len(polys), bool), (60, 80), 4)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_maps_cover_the_text_of_the_crop(seed: int) -> None:
    page = east_process_train(length=320)(page_of(TEXT), np.random.default_rng(seed))
    assert page.image is not None
    assert page.image.shape == (320, 320, 3)
    scores, geometry, ignored = page.maps
    assert scores.shape == ignored.shape == (1, 80, 80)
    assert geometry.shape == (5, 80, 80)
    inside = scores[0] > 0
    if inside.sum() > 1:
        assert (page.image[::4, ::4, 0][inside] > 127).mean() > 0.95


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_a_crop_cuts_no_text_if_possible(seed: int) -> None:
    page = east_process_train(length=320)(page_of(TEXT), np.random.default_rng(seed))
    text = Polygon(page.polys[0])
    share = text.intersection(box(0, 0, 320, 320)).area / text.area
    assert share < 0.05 or share > 0.95


def test_a_dense_page_is_cropped_anyway() -> None:
    """If every crop cuts a text, one is used after many tries."""
    rows = [[[10, y], [990, y], [990, y + 20], [10, y + 20]] for y in range(0, 680, 30)]
    page = east_process_train(length=320)(page_of(*rows), np.random.default_rng(0))
    assert page.maps[0].sum() > 100


def test_a_small_page_is_enlarged() -> None:
    page = east_process_train(length=512)(
        page_of([[20, 30], [100, 30], [100, 60], [20, 60]], height=100, width=150), np.random.default_rng(0)
    )
    assert page.image is not None
    assert page.image.shape == (512, 512, 3)


@settings(deadline=None)
@given(st.floats(60, 120), st.floats(24, 60), st.floats(-40, 40))
def test_distances_add_up_to_the_sides_and_the_angle_is_that_of_the_text(
    width: float, height: float, degrees: float
) -> None:
    scores, geometry, _ = drawn(rotated((160, 120), (width, height), degrees))
    upper, lower, left, right, angle = geometry[:, scores[0] > 0]
    np.testing.assert_allclose(upper + lower, height, atol=2.5)
    np.testing.assert_allclose(left + right, width, atol=2.5)
    if width > 1.2 * height:
        np.testing.assert_allclose(angle, -math.radians(degrees), atol=0.02)


def test_distances_at_a_pixel() -> None:
    text = np.array([[40, 80], [200, 80], [200, 120], [40, 120]], np.float32)
    scores, geometry, _ = drawn(text)
    assert scores[0, 25, 20] == 1
    assert geometry[:, 25, 20].tolist() == [20, 20, 40, 120, 0]
    assert scores[0, 19:21].sum() == 0  # shrunk by 0.3 of 40 pixels
    assert not geometry[:, scores[0] == 0].any()


def test_corners_move_inwards_by_a_share_of_the_shorter_side() -> None:
    quad = np.array([[0, 0], [100, 0], [100, 40], [0, 40]], float)
    np.testing.assert_allclose(shrunk(quad), [[12, 12], [88, 12], [88, 28], [12, 28]])
    upright = np.array([[0, 0], [40, 0], [40, 100], [0, 100]], float)
    np.testing.assert_allclose(shrunk(upright), [[12, 12], [28, 12], [28, 88], [12, 88]])


def test_ignored_texts_are_masked_and_not_learnt() -> None:
    quads = pad_polygons([[[40, 80], [200, 80], [200, 120], [40, 120]], [[40, 160], [200, 160], [200, 200], [40, 200]]])
    scores, _, ignored = draw_geometry(quads, np.array([False, True]), (60, 80), 4)
    assert scores[0, 25, 20] == 1
    assert ignored[0, 45, 20] == 1
    assert (scores * ignored).sum() == 0


def test_a_page_without_a_text_to_learn_marks_a_single_pixel() -> None:
    scores, _, _ = draw_geometry(pad_polygons([TEXT]), np.ones(1, bool), (60, 80), 4)
    assert scores.sum() == scores[0, 0, 0] == 1


def test_upside_down_text_has_the_nearest_representable_angle() -> None:
    """Only angles from -90 to 89 degrees can be represented."""
    quad = rotated((160, 120), (100, 40), 0).astype(float)
    assert best_angle(quad) == 0
    assert best_angle(np.roll(quad, 1, axis=0)) == pytest.approx(math.pi / 2, abs=0.02) or best_angle(
        np.roll(quad, 1, axis=0)
    ) == pytest.approx(-math.pi / 2)


def test_a_polygon_with_many_corners_is_replaced_by_its_bounding_rectangle() -> None:
    curved = np.array([[40, 80], [120, 70], [200, 80], [200, 120], [120, 130], [40, 120]], np.float32)
    corners = four_corners(curved)
    np.testing.assert_allclose(corners, [[40, 70], [200, 70], [200, 130], [40, 130]], atol=0.1)
    quad = np.array([[40, 80], [200, 80], [200, 120], [40, 120], [40, 120]], np.float32)
    np.testing.assert_array_equal(four_corners(quad), quad[:4])


def test_a_triangle_gets_its_last_corner_twice() -> None:
    corners = [[10, 10], [50, 10], [10, 40]]
    for poly in (corners, [*corners, corners[-1]], [corners[0], *corners, corners[-1]]):
        np.testing.assert_array_equal(four_corners(np.array(poly, np.float32)), [*corners, corners[-1]])


def test_a_corner_that_is_given_twice_does_not_hide_another() -> None:
    corners = [[10, 10], [50, 10], [50, 40], [10, 40]]
    np.testing.assert_array_equal(four_corners(np.array([corners[0], *corners], np.float32)), corners)


@pytest.mark.parametrize(
    "poly",
    [[[300, 300], [350, 300], [400, 300], [320, 300]], [[400, 300], [560, 320], [410, 340]], [[300, 300]] * 4],
    ids=["flat", "triangle", "point"],
)
def test_texts_without_four_corners_or_area_can_be_trained(poly: list[list[int]]) -> None:
    """GEOS cannot clip some flat polygons; it depends on the crop."""
    transform = east_process_train(length=320)
    for seed in range(40):
        page = transform(page_of(poly), np.random.default_rng(seed))
        assert [layer.shape for layer in page.maps] == [(1, 80, 80), (5, 80, 80), (1, 80, 80)]
        assert all(np.isfinite(layer).all() for layer in page.maps)
