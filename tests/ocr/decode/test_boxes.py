"""Boxes: mapping back to the source."""

import numpy as np

from hccl_kit.ocr.data.pages.pages import Shape
from hccl_kit.ocr.decode.boxes import Box, to_source


def test_boxes_are_mapped_to_whole_pixels_inside_the_source() -> None:
    points = np.array([[-3, 10], [24.1, 10.3], [500, 400]], np.float32)
    [box] = to_source([Box(points, 0.5)], Shape(320, 480, 0.5, 0.4))
    assert box.points.tolist() == [[0, 20], [60, 21], [479, 319]]
    assert box.score == 0.5


def test_without_a_resize_boxes_are_unchanged() -> None:
    boxes = [Box(np.array([[-3, 10.5]], np.float32), 1)]
    assert to_source(boxes, None) is boxes
