"""PSEGtDecode and RandomCropWithMask: texts and kernels at the position of the text, and crops that contain some."""

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data.pages.db_maps import draw_kernels_of_pse, pse_gt_decode, rates
from hccl_kit.ocr.data.pages.page_moves import crop_with_text
from hccl_kit.ocr.data.pages.pages import Page, pad_polygons
from hccl_kit.ocr.data.pipeline import pipeline

TEXT = [[40, 30], [140, 30], [140, 70], [40, 70]]
OTHER = [[160, 100], [210, 100], [210, 120], [160, 120]]


def page_of(*polys: list[list[int]], ignored: tuple[int, ...] = (), height: int = 160, width: int = 240) -> Page:
    """A black page whose texts are white."""
    quads = pad_polygons(polys)
    image = np.zeros((height, width, 3), np.uint8)
    cv2.fillPoly(image, list(quads.astype(np.int32)), (255, 255, 255))
    flags = np.array([number in ignored for number in range(len(polys))], bool)
    return Page(Path("page.png"), image, quads, ("word",) * len(polys), flags)


def maps_of(page: Page) -> tuple[NDArray[np.float32], ...]:
    return pse_gt_decode(min_shortest_edge=100)(page, np.random.default_rng(0)).maps


def test_kernels_shrink_from_the_text_to_the_smallest_ratio() -> None:
    assert rates(7, 0.4) == pytest.approx([0.9, 0.8, 0.7, 0.6, 0.5, 0.4])
    assert rates(2, 0.4) == pytest.approx([0.4])


def test_each_kernel_lies_inside_the_previous_one() -> None:
    texts, kernels, mask = maps_of(page_of(TEXT, OTHER))
    assert texts.shape == mask.shape == (160, 240)
    assert kernels.shape == (6, 160, 240)
    outer = texts
    for kernel in kernels:
        assert (kernel <= outer).all()
        assert 0 < kernel.sum() < outer.sum()
        outer = kernel
    assert mask.all()


def test_the_offset_of_a_kernel_follows_from_its_ratio() -> None:
    """A text of 100 x 40: area 4,000, perimeter 280, so 14.3 (1 - r^2) pixels, rounded."""
    _, kernels, _ = maps_of(page_of(TEXT))
    for kernel, ratio in zip(kernels, rates(7, 0.4), strict=True):
        rows = np.flatnonzero(kernel.any(axis=1))
        assert rows[0] == 30 + round(4000 / 280 * (1 - ratio**2))


def test_a_distance_between_two_pixels_is_rounded_as_in_mindocr() -> None:
    """A square of 40: area by perimeter is 10, by 0.75 for r = 0.5 is 7.5; MindOCR adds 0.001 to the perimeter."""
    _, kernels, _ = maps_of(page_of([[40, 30], [80, 30], [80, 70], [40, 70]]))
    assert np.flatnonzero(kernels[4].any(axis=1))[0] == 30 + 7


def test_the_offset_is_at_most_20_pixels() -> None:
    _, kernels, _ = maps_of(page_of([[100, 100], [900, 100], [900, 500], [100, 500]], height=600, width=1000))
    rows = np.flatnonzero(kernels[-1].any(axis=1))
    assert (rows[0], rows[-1]) == (120, 480)


def test_a_kernel_that_vanishes_is_drawn_as_the_text() -> None:
    """A text 2 pixels high, shrunk by 1."""
    texts, kernels, _ = maps_of(page_of([[40, 30], [140, 30], [140, 32], [40, 32]]))
    assert texts.any()
    np.testing.assert_array_equal(kernels[-1], texts)


def test_ignored_texts_are_drawn_and_masked() -> None:
    texts, kernels, mask = maps_of(page_of(TEXT, OTHER, ignored=(1,)))
    assert texts[110, 180] == kernels[0, 110, 180] == 1
    assert mask[110, 180] == 0
    assert mask[50, 90] == 1


def test_small_pages_are_enlarged() -> None:
    page = pse_gt_decode(min_shortest_edge=320)(page_of(TEXT), np.random.default_rng(0))
    assert page.image is not None
    assert page.image.shape == (320, 480, 3)
    np.testing.assert_allclose(page.polys[0], np.array(TEXT) * 2 + 0.5)
    white = page.image[..., 0] > 127
    assert (white == (page.maps[0] > 0)).mean() > 0.98


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.floats(0.3, 2))
def test_maps_show_the_text_of_the_crop(seed: int, factor: float) -> None:
    steps: list[dict[str, Any]] = [
        {"RandomScale": {"scale_range": [factor, factor], "p": 1.0}},
        {"PSEGtDecode": {"min_shortest_edge": 100}},
        {"RandomCropWithMask": {"size": [96, 128]}},
    ]
    page = pipeline(steps)(page_of(TEXT, OTHER), np.random.default_rng(seed))
    assert page.image.shape == (96, 128, 3)
    texts, kernels, mask = page.maps
    assert texts.shape == mask.shape == (96, 128)
    assert kernels.shape == (6, 96, 128)
    assert ((page.image[..., 0] > 127) == (texts > 0)).mean() > 0.95


def test_a_crop_with_text_is_preferred_to_a_random_one() -> None:
    page = page_of([[900, 700], [960, 700], [960, 730], [900, 730]], height=1000, width=1200)
    shares = []
    for p in (0.0, 1.0):
        cut = crop_with_text(size=[320, 320], p=p)
        parts = [cut(page, np.random.default_rng(seed)) for seed in range(100)]
        shares.append(sum(bool(part.image is not None and part.image.any()) for part in parts))
    assert shares[0] == 100
    assert shares[1] < 60


def test_a_small_page_is_padded_with_black() -> None:
    cut = crop_with_text(size=[200, 300])(page_of(TEXT), np.random.default_rng(0))
    assert cut.image is not None
    assert cut.image.shape == (200, 300, 3)
    assert cut.content == (160, 240)
    np.testing.assert_array_equal(cut.polys[0], TEXT)


def test_a_page_is_not_moved_after_its_targets_are_drawn() -> None:
    steps: list[dict[str, Any]] = [
        {"PSEGtDecode": None},
        {"RandomColorAdjust": None},
        {"RandomCropWithMask": {"size": [96, 128]}},
    ]
    with pytest.raises(KitError, match="a geometric transform follows the transforms that draw the targets"):
        pipeline(steps)(page_of(TEXT), np.random.default_rng(0))


def test_texts_outside_the_crop_are_not_drawn() -> None:
    off = pad_polygons([[[-90, 10], [-10, 10], [-10, 30], [-90, 30]], TEXT])
    texts, kernels, _ = draw_kernels_of_pse(off, np.zeros(2, bool), (160, 240), [0.5])
    assert texts[:, :30].sum() == kernels[:, :, :30].sum() == 0
