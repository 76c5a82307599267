"""Polygon offsets inwards and outwards, against the exact result for rectangles and against another library."""

import cv2
import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.ocr.polygons import area_by_perimeter, clockwise, offset
from tests.ocr.reference import reference_arrays

sides = st.integers(4, 400)
RECTANGLE = [[10, 20], [110, 20], [110, 60], [10, 60]]


def rectangle(width: float, height: float) -> list[list[float]]:
    return [[0, 0], [width, 0], [width, height], [0, height]]


@given(sides, sides, st.sampled_from([0, 7.5, -300]))
def test_area_by_perimeter_of_a_rectangle_does_not_depend_on_its_position(width: int, height: int, by: float) -> None:
    found = area_by_perimeter(np.array(rectangle(width, height)) + by)
    assert found == pytest.approx(width * height / (2 * (width + height)), rel=1e-5)


@pytest.mark.parametrize("points", [[[5, 5]] * 4, [[0, 0], [9, 0], [4, 0]]])
def test_a_degenerate_polygon_has_no_distance_and_no_offset(points: list[list[float]]) -> None:
    assert area_by_perimeter(points) == 0
    assert offset(points, 3) == []


def test_an_inward_offset_of_a_rectangle_is_a_rectangle() -> None:
    [piece] = offset(RECTANGLE, -12)
    assert sorted(map(tuple, piece.tolist())) == [(22, 32), (22, 48), (98, 32), (98, 48)]


@given(sides, sides, st.integers(1, 60))
def test_an_outward_offset_is_the_minkowski_sum_with_a_disc(width: int, height: int, distance: int) -> None:
    [piece] = offset(rectangle(width, height), distance)
    assert piece.min(axis=0).tolist() == [-distance, -distance]
    assert piece.max(axis=0).tolist() == [width + distance, height + distance]
    disc = shapely.Polygon(rectangle(width, height)).buffer(distance, quad_segs=32)
    assert abs(shapely.Polygon(piece).area - disc.area) <= disc.length / 2  # corners are whole pixels


@given(sides, sides)
def test_a_large_inward_offset_gives_no_polygon(width: int, height: int) -> None:
    assert offset(rectangle(width, height), -(min(width, height) / 2 + 1)) == []
    assert len(offset(rectangle(width, height), -(min(width, height) // 2 - 1))) == 1


def test_an_inward_offset_splits_a_dumbbell() -> None:
    dumbbell = [[0, 0], [40, 0], [40, 18], [60, 18], [60, 0], [100, 0], [100, 40], [60, 40], [60, 22], [40, 22]]
    assert len(offset([*dumbbell, [40, 40], [0, 40]], -5)) == 2


def test_the_orientation_does_not_matter() -> None:
    for distance in (-5, 5):
        [one], [other] = offset(RECTANGLE, distance), offset(RECTANGLE[::-1], distance)
        assert sorted(one.tolist()) == sorted(other.tolist())


@pytest.mark.parametrize("number", [0, 1, 2])
def test_distances_and_polygons_match_the_reference(number: int) -> None:
    values = reference_arrays("db_targets.npz")
    poly = values["a_encoded_polys"][number]
    distance = area_by_perimeter(poly) * (1 - 0.4**2)
    assert distance == pytest.approx(values[f"poly{number}_distance"].item(), rel=1e-6)
    for sign, name in ((-1, "shrunk"), (1, "expanded")):
        [piece] = offset(poly, sign * distance)
        np.testing.assert_array_equal(piece, values[f"poly{number}_{name}"])


@given(st.floats(-44, 44), st.permutations(range(4)))
def test_corners_are_ordered_clockwise_from_the_upper_left(degrees: float, order: list[int]) -> None:
    corners = cv2.boxPoints(((100, 100), (80, 40), degrees))[order].astype(np.float32)
    found = clockwise(corners)
    assert cv2.contourArea(found, oriented=True) == pytest.approx(80 * 40, rel=1e-3)
    assert found[0, 0] < found[1, 0]
    assert found[0, 1] < found[3, 1]
