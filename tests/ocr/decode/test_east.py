"""From the maps of EAST to boxes: drawn texts are found, and rectangles of one text are merged."""

from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from shapely import Polygon

from hccl_kit.ocr.data.pages.east_maps import draw_geometry
from hccl_kit.ocr.data.pages.pages import Shape, pad_polygons
from hccl_kit.ocr.decode.boxes import Box
from hccl_kit.ocr.decode.east import east_postprocess, rectangles
from hccl_kit.ocr.metrics.boxes import compare
from hccl_kit.ocr.polygons import clockwise

SIZE = (160, 240)


def rotated(centre: tuple[float, float], size: tuple[float, float], degrees: float) -> NDArray[np.float32]:
    return clockwise(np.asarray(cv2.boxPoints((centre, size, degrees)), np.float32))


def maps_of(*texts: NDArray[np.float32], score: float = 0.95) -> NDArray[np.float32]:
    """The ideal maps (6, H/4, W/4) for the targets of EASTProcessTrain."""
    size = SIZE[0] // 4, SIZE[1] // 4
    scores, geometry, _ = draw_geometry(pad_polygons(texts), np.zeros(len(texts), bool), size, 4)
    return np.concatenate([scores * np.float32(score), geometry])


def found(maps: NDArray[np.float32], shape: Shape | None = None, **options: Any) -> list[Box]:
    return east_postprocess(**options)(maps, shape)


@settings(deadline=None, max_examples=40)
@given(st.floats(80, 150), st.floats(24, 50), st.floats(-40, 40))
@example(141.75, 28.0, 1.75)  # two rectangles differ by 4e-6 pixels
@example(136.15684311438346, 34.69975547989031, -30.184174359552323)  # OpenCV finds no intersection
def test_a_drawn_text_is_found(width: float, height: float, degrees: float) -> None:
    text = rotated((120, 80), (width, height), degrees)
    [box] = found(maps_of(text))
    assert box.score == pytest.approx(0.95)
    drawn, read = Polygon(text), Polygon(box.points)
    assert drawn.intersection(read).area / drawn.union(read).area > 0.9
    np.testing.assert_allclose(box.points, text, atol=4)


def test_texts_that_do_not_overlap_are_separate() -> None:
    texts = [rotated((120, y), (150, 30), 0) for y in (30, 80, 130)]
    boxes = found(maps_of(*texts))
    assert compare([box.points for box in boxes], np.stack(texts), np.zeros(3, bool)).found == 3
    assert len(boxes) == 3


def test_pixels_with_a_low_score_are_dropped() -> None:
    maps = maps_of(rotated((120, 80), (120, 40), 0), score=0.7)
    assert found(maps) == []
    assert len(found(maps, score_thresh=0.6)) == 1


@pytest.mark.parametrize(("score", "kept"), [(0.9, 60), (0.99, 64)])
def test_the_rectangle_with_the_greater_weight_is_kept(score: float, kept: int) -> None:
    """Two overlapping texts in alternating rows, and one beside them, so that their pixels are not consecutive."""
    other = rotated((200, 80), (40, 40), 0)
    maps = maps_of(rotated((60, 80), (80, 40), 0), other)
    maps[:, 1::2] = maps_of(rotated((64, 80), (80, 40), 0), other, score=score)[:, 1::2]
    centres = sorted(box.points[:, 0].mean() for box in found(maps))
    assert centres == pytest.approx([kept, 200], abs=0.5)


def test_a_rectangle_with_two_corners_outside_the_image_is_dropped() -> None:
    maps = np.zeros((6, 40, 60), np.float32)
    maps[:5, 20, 5] = [0.9, 8, 8, 40, 20]
    assert len(rectangles(maps, 0.8)[0]) == 0
    maps[3, 20, 5] = 16
    quads, scores = rectangles(maps, 0.8)
    assert quads[0].tolist() == [[4, 72], [40, 72], [40, 88], [4, 88]]
    assert scores.tolist() == pytest.approx([0.9])


def test_boxes_of_a_resized_image_are_in_source_coordinates() -> None:
    text = rotated((120, 80), (120, 40), 0)
    [plain] = found(maps_of(text))
    [box] = found(maps_of(text), Shape(320, 480, 0.5, 0.5))
    np.testing.assert_allclose(box.points, plain.points * 2, atol=1)
