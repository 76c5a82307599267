"""Lines cut out of a page are straight, complete and upright."""

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hccl_kit.ocr.data.lines.crop import crop_line
from hccl_kit.ocr.data.samples import BadSampleError


def rectangle(left: float, top: float, width: float, height: float) -> NDArray[np.float32]:
    return np.array([[left, top], [left + width, top], [left + width, top + height], [left, top + height]], np.float32)


def test_an_axis_aligned_rectangle_is_cut_unchanged() -> None:
    image = np.random.default_rng(0).integers(0, 256, (40, 60, 3), np.uint8)
    np.testing.assert_array_equal(crop_line(image, rectangle(5, 7, 20, 10)), image[7:17, 5:25])


@given(st.integers(0, 359))
@settings(max_examples=40, deadline=None)
def test_a_rotated_line_is_straightened(degrees: int) -> None:
    """Left half red, right half blue, rotated by any angle about the centre of the page."""
    page = np.zeros((300, 300, 3), np.uint8)
    page[130:170, 90:150], page[130:170, 150:210] = (0, 0, 255), (255, 0, 0)
    matrix = cv2.getRotationMatrix2D((150, 150), degrees, 1)
    quad = cv2.transform(rectangle(90, 130, 119, 39)[None], matrix)[0]
    line = crop_line(cv2.warpAffine(page, matrix, (300, 300)), quad)
    assert line.shape[1] in (118, 119)
    assert line.shape[0] in (38, 39)
    assert (line[5:-5, 5:50, 2] > 200).all()
    assert (line[5:-5, 70:-5, 0] > 200).all()


@pytest.mark.parametrize(("height", "turned"), [(14, False), (15, True)])
def test_a_vertical_line_is_rotated_counterclockwise(height: int, turned: bool) -> None:
    image = np.zeros((60, 60, 3), np.uint8)
    image[10:13] = 255  # the end of an upward text
    line = crop_line(image, rectangle(10, 10, 10, height))
    assert line.shape[:2] == ((10, 15) if turned else (14, 10))
    if turned:
        assert (line[:, :3] == 255).all()


def test_corners_far_off_the_image_take_no_memory() -> None:
    assert max(crop_line(np.zeros((20, 30, 3), np.uint8), rectangle(-1e6, 0, 2e6, 1e6)).shape[:2]) <= 50


@pytest.mark.parametrize(
    ("shape", "quad", "message"),
    [
        ((10, 40_000), rectangle(0, 0, 20, 10), "SHRT_MAX"),
        ((9_000, 9_000), rectangle(0, 0, 1_000_000, 1_000_000), "would become 18000 x 18000 pixels"),
    ],
)
def test_a_crop_that_is_too_large_is_a_bad_sample(
    shape: tuple[int, int], quad: NDArray[np.float32], message: str
) -> None:
    image = np.broadcast_to(np.zeros(3, np.uint8), (*shape, 3))
    with pytest.raises(BadSampleError, match=message):
        crop_line(np.ascontiguousarray(image) if shape[0] == 10 else image, quad)
