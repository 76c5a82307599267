"""From the maps of PSENet to boxes: drawn texts are found, adjacent ones are separate, faint ones are dropped."""

from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hccl_kit.ocr.data.pages.db_maps import draw_kernels_of_pse, rates
from hccl_kit.ocr.data.pages.pages import Shape, pad_polygons
from hccl_kit.ocr.decode.boxes import Box
from hccl_kit.ocr.decode.pse import expand, pse_postprocess
from hccl_kit.ocr.metrics.boxes import compare

SIZE = (160, 240)


def rotated(centre: tuple[float, float], size: tuple[float, float], degrees: float) -> NDArray[np.float32]:
    return np.asarray(cv2.boxPoints((centre, size, degrees)), np.float32)


def kernels_of(*texts: NDArray[np.float32]) -> NDArray[np.float32]:
    """Texts and kernels (7, H, W) as drawn by PSEGtDecode."""
    drawn, kernels, _ = draw_kernels_of_pse(pad_polygons(texts), np.zeros(len(texts), bool), SIZE, rates(7, 0.4))
    return np.concatenate([drawn[None], kernels])


def logits_of(*texts: NDArray[np.float32], peak: float = 6) -> NDArray[np.float32]:
    """The ideal maps (7, H/4, W/4) for the targets of PSEGtDecode."""
    return (kernels_of(*texts)[:, 2::4, 2::4] * 2 - 1) * np.float32(peak)


def found(logits: NDArray[np.float32], shape: Shape | None = None, **options: Any) -> list[Box]:
    return pse_postprocess(**{"binary_thresh": 0, "scale": 1, **options})(logits, shape)


@settings(deadline=None, max_examples=30)
@given(
    st.floats(80, 150),
    st.floats(30, 50),
    st.floats(-90, 90),
    st.sampled_from(["quad", "poly"]),
    st.sampled_from([1, 2, 4]),
)
def test_a_drawn_text_is_found(width: float, height: float, degrees: float, box_type: str, scale: int) -> None:
    text = rotated((120, 80), (width, height), degrees)
    [box] = found(logits_of(text), box_type=box_type, scale=scale, min_area=4)
    assert box.score > 0.9
    assert compare([box.points], text[None], np.zeros(1, bool)).found == 1


def test_adjacent_texts_are_separate() -> None:
    upper, lower = rotated((120, 50), (160, 40), 0), rotated((120, 90), (160, 40), 0)
    logits = logits_of(upper, lower)
    assert cv2.connectedComponents((logits[0] > 0).astype(np.uint8))[0] == 2  # the background and one text
    boxes = sorted(found(logits), key=lambda box: float(box.points[0, 1]))
    assert compare([box.points for box in boxes], np.stack([upper, lower]), np.zeros(2, bool)).found == 2


def test_faint_and_small_texts_are_dropped() -> None:
    text = rotated((120, 80), (120, 40), 0)
    assert len(found(logits_of(text, peak=1), box_thresh=0.7)) == 1
    assert found(logits_of(text, peak=1), box_thresh=0.8) == []
    assert found(logits_of(text), min_area=10_000) == []
    assert found(np.full((7, 40, 60), -3, np.float32)) == []


def test_a_kernel_outside_of_text_is_ignored() -> None:
    logits = logits_of(rotated((120, 80), (120, 40), 0))
    logits[0] = -6
    assert found(logits, box_thresh=0) == []


def test_boxes_of_a_resized_image_are_in_source_coordinates() -> None:
    text = rotated((120, 80), (120, 40), 0)
    [plain] = found(logits_of(text))
    [box] = found(logits_of(text), Shape(320, 480, 0.5, 0.5))
    np.testing.assert_allclose(box.points, plain.points * 2, atol=1)


def reachable(kernels: NDArray[np.bool_], seeds: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The pixels that are reached by growing through one kernel after the other, by brute force."""
    cross = cv2.getStructuringElement(cv2.MORPH_CROSS, (3, 3))
    reached = seeds.astype(np.uint8)
    for kernel in kernels[-2::-1]:
        while True:
            more = reached | (cv2.dilate(reached, cross) & kernel)
            if (more == reached).all():
                break
            reached = more
    return reached.astype(bool)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_kernels_grow_to_their_connected_pixels_only(seed: int, min_area: int) -> None:
    noise = cv2.GaussianBlur(np.random.default_rng(seed).standard_normal((30, 40)), (0, 0), 2)
    kernels = np.stack([noise > threshold * noise.std() for threshold in (0.0, 0.4, 0.8, 1.2)])
    labels = expand(kernels, min_area)
    count, parts, stats, _ = cv2.connectedComponentsWithStats(kernels[-1].astype(np.uint8), connectivity=4)
    large = [number for number in range(1, count) if stats[number, cv2.CC_STAT_AREA] >= min_area]
    assert labels.max() == len(large)
    for number, part in enumerate(large, 1):
        assert (labels[parts == part] == number).all()
        assert cv2.connectedComponents((labels == number).astype(np.uint8), connectivity=4)[0] == 2
    np.testing.assert_array_equal(labels > 0, reachable(kernels, np.isin(parts, large)))


def test_a_pixel_belongs_to_the_nearest_kernel() -> None:
    large = np.zeros((1, 20), bool)
    large[0, 1:19] = True
    small = np.zeros((1, 20), bool)
    small[0, 1:3] = small[0, 15:19] = True
    labels = expand(np.stack([large, small]), 1)[0].tolist()
    assert labels == [0, *[1] * 8, *[2] * 10, 0]


def test_intermediate_kernels_determine_which_text_grows_first() -> None:
    """One text already extends far in the intermediate kernel, so the other gets only the rest."""
    small, middle, large = np.zeros((3, 1, 20), bool)
    small[0, 1:3] = small[0, 15:19] = True
    middle[0, 1:13] = middle[0, 15:19] = True
    large[0, 1:19] = True
    assert expand(np.stack([large, middle, small]), 1)[0].tolist() == [0, *[1] * 13, *[2] * 5, 0]


@pytest.mark.parametrize("kernels", [1, 3])
def test_any_number_of_kernels_is_supported(kernels: int) -> None:
    maps = np.full((kernels + 1, 20, 30), -4, np.float32)
    maps[:, 5:15, 5:25] = 4
    [box] = found(maps)
    assert cv2.contourArea(box.points) == pytest.approx(40 * 80, rel=0.1)
