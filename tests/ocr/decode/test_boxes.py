"""Boxes: mapping back to the source, and a fixed order of corners."""

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.ocr.data.pages.pages import Shape
from hccl_kit.ocr.decode.boxes import Box, clockwise, to_source


def test_boxes_are_mapped_to_whole_pixels_inside_the_source() -> None:
    points = np.array([[-3, 10], [24.1, 10.3], [500, 400]], np.float32)
    [box] = to_source([Box(points, 0.5)], Shape(320, 480, 0.5, 0.4))
    assert box.points.tolist() == [[0, 20], [60, 21], [479, 319]]
    assert box.score == 0.5


def test_without_a_resize_boxes_are_unchanged() -> None:
    boxes = [Box(np.array([[-3, 10.5]], np.float32), 1)]
    assert to_source(boxes, None) is boxes


@given(st.floats(-44, 44), st.permutations(range(4)))
def test_corners_are_ordered_clockwise_from_the_upper_left(degrees: float, order: list[int]) -> None:
    corners = cv2.boxPoints(((100, 100), (80, 40), degrees))[order].astype(np.float32)
    found = clockwise(corners)
    assert cv2.contourArea(found, oriented=True) == pytest.approx(80 * 40, rel=1e-3)
    assert found[0, 0] < found[1, 0]
    assert found[0, 1] < found[3, 1]
