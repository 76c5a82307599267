"""From probability maps to boxes: drawn texts are found, faint or small ones are not; and the reference."""

from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hccl_kit.ocr.data.pages.pages import Shape
from hccl_kit.ocr.decode.boxes import Box
from hccl_kit.ocr.decode.db import db_postprocess
from hccl_kit.ocr.metrics.boxes import compare
from hccl_kit.ocr.polygons import area_by_perimeter, offset
from tests.ocr.reference import reference_arrays

SIZE = (160, 240)
SHRINK = 1 - 0.4**2
"""The offset of the kernel of a text, in units of area by perimeter."""


def rotated(centre: tuple[float, float], size: tuple[float, float], degrees: float) -> NDArray[np.float32]:
    return np.asarray(cv2.boxPoints((centre, size, degrees)), np.float32)


def kernel_of(*texts: NDArray[np.float32], peak: float = 0.9) -> NDArray[np.float32]:
    """The ideal probability map for the targets of ShrinkBinaryMap."""
    probability = np.zeros(SIZE, np.float32)
    for text in texts:
        cv2.fillPoly(probability, offset(text, -area_by_perimeter(text) * SHRINK), peak)
    return probability


def found(probability: NDArray[np.float32], **options: Any) -> list[Box]:
    return db_postprocess(**options)(probability[None], None)


@settings(deadline=None, max_examples=60)
@given(st.floats(60, 150), st.floats(34, 50), st.floats(-90, 90), st.sampled_from(["quad", "polygon"]))
def test_a_drawn_text_is_found(width: float, height: float, degrees: float, box_type: str) -> None:
    """The polygon of a small text over five times as long as high may be found at half its height: its kernel,
    in whole pixels, is too small.
    """
    text = rotated((120, 80), (width, height), degrees)
    [box] = found(kernel_of(text), box_type=box_type)
    assert box.score == pytest.approx(0.9)
    counts = compare([box.points], text[None], np.zeros(1, bool))
    assert counts.found == 1


@settings(deadline=None, max_examples=30)
@given(st.floats(-44, 44))
def test_corners_are_ordered_clockwise_from_the_upper_left(degrees: float) -> None:
    [box] = found(kernel_of(rotated((120, 80), (120, 40), degrees)))
    (x, y), (x2, y2), (x3, y3), (x4, y4) = box.points.tolist()
    assert x < x2
    assert x4 < x3
    assert y < y4
    assert y2 < y3
    assert cv2.contourArea(box.points, oriented=True) > 0


def test_every_text_has_one_box() -> None:
    texts = [rotated((60, y), (90, 30), 0) for y in (30, 80, 130)]
    boxes = found(kernel_of(*texts, rotated((180, 80), (80, 40), 20)))
    assert len(boxes) == 4
    assert len(found(kernel_of(*texts), max_candidates=2)) == 2
    assert found(np.zeros(SIZE, np.float32)) == []


def test_thresholds_are_applied() -> None:
    faint = kernel_of(rotated((120, 80), (120, 40), 0), peak=0.6)
    assert found(faint, box_thresh=0.61) == []
    assert len(found(faint, box_thresh=0.59)) == 1
    assert found(faint, binary_thresh=0.61, box_thresh=0) == []
    assert len(found(faint, binary_thresh=0.6, box_thresh=0)) == 1


@pytest.mark.parametrize(("height", "width", "count"), [(1, 60, 0), (3, 60, 0), (4, 60, 1), (60, 3, 0), (3, 3, 0)])
@pytest.mark.parametrize("box_type", ["quad", "poly"])
def test_noise_is_ignored(height: int, width: int, count: int, box_type: str) -> None:
    """The contour of a rectangle of pixels is one pixel smaller than the rectangle."""
    probability = np.zeros(SIZE, np.float32)
    probability[20 : 20 + height, 30 : 30 + width] = 1
    assert len(found(probability, box_type=box_type)) == count


@pytest.mark.parametrize(("box_type", "smallest"), [("quad", 4), ("poly", 3)])
def test_a_thin_kernel_is_ignored_whatever_the_expand_ratio(box_type: str, smallest: int) -> None:
    for height in (2, 3, 4):
        probability = np.zeros(SIZE, np.float32)
        probability[70 : 70 + height, 60:180] = 1
        assert len(found(probability, box_type=box_type, expand_ratio=10)) == (height >= smallest)


@pytest.mark.parametrize("box_type", ["quad", "poly"])
def test_a_thin_box_is_ignored_whatever_its_kernel(box_type: str) -> None:
    for height in (5, 6):
        probability = np.zeros(SIZE, np.float32)
        probability[70 : 70 + height, 60:180] = 1
        assert len(found(probability, box_type=box_type, expand_ratio=0)) == (height == 6)


def test_a_larger_expand_ratio_gives_a_larger_box() -> None:
    probability = kernel_of(rotated((120, 80), (120, 40), 0))
    small, large = (found(probability, expand_ratio=ratio)[0].points for ratio in (1.0, 2.0))
    assert cv2.contourArea(small) < cv2.contourArea(large)


def test_the_score_is_the_mean_over_the_rectangle_or_the_contour() -> None:
    """An L and a faint spot in its corner: the rectangle of the L contains the spot."""
    probability = np.zeros(SIZE, np.float32)
    probability[20:100, 30:50] = probability[80:100, 30:130] = 1
    probability[30:60, 70:110] = 0.4
    both = float(probability[20:100, 30:130].sum() / (probability[20:100, 30:130] > 0).sum())
    [_, corner] = sorted(box.score for box in found(probability, box_thresh=0))
    assert corner == pytest.approx(both)
    [spot, corner] = sorted(box.score for box in found(probability, box_thresh=0, score_mode="contour"))
    assert (spot, corner) == pytest.approx((0.4, 1.0))


def test_a_hole_is_a_contour_with_a_low_score() -> None:
    """As in the reference, which lists all contours: only the score distinguishes a hole from a text."""
    probability = kernel_of(rotated((120, 80), (200, 120), 0))
    probability[60:100, 100:140] = 0
    assert len(found(probability)) == 2
    assert len(found(probability, score_mode="contour")) == 1


@pytest.mark.parametrize(("name", "box_thresh"), [("quad6", 0.6), ("quad7", 0.7)])
def test_rectangles_match_the_reference(name: str, box_thresh: float) -> None:
    values = reference_arrays("db_postprocess.npz")
    decode = db_postprocess(box_thresh=box_thresh)
    for way, polys in ((None, "polys"), (Shape(*values["shape_list"][0].tolist()), "rescaled_polys")):
        boxes = decode(values["prob"][0], way)
        np.testing.assert_allclose([box.points for box in boxes], values[f"{name}_{polys}"], rtol=1e-5)
        np.testing.assert_allclose([box.score for box in boxes], values[f"{name}_scores"], rtol=1e-6)


def test_polygons_match_the_reference() -> None:
    values = reference_arrays("db_postprocess.npz")
    boxes = found(values["prob"][0, 0], box_type="polygon", box_thresh=0.6)
    assert len(boxes) == values["poly6_count"]
    np.testing.assert_allclose([box.score for box in boxes], values["poly6_scores"], rtol=1e-6)
    for number, box in enumerate(boxes):
        np.testing.assert_array_equal(box.points, values[f"poly6_{number}"])
