"""RecAug: reproducible, the text stays in the image, and each step has the effect of its name."""

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hccl_kit.ocr.data.lines.rec_augment import rec_augment
from hccl_kit.ocr.data.samples import TextLine
from hccl_kit.ocr.data.transforms import image_of

STEPS = ("tia_prob", "crop_prob", "blur_prob", "hsv_aug_prob", "jitter_prob", "noise_prob", "reverse_prob")
NONE = dict.fromkeys(STEPS, 0.0)
ALL = dict.fromkeys(STEPS, 1.0)


def line(height: int, width: int, seed: int = 0) -> TextLine:
    image = np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)
    return TextLine(Path("x.png"), image, text="x")


def word() -> TextLine:
    image = np.full((48, 200, 3), 255, np.uint8)
    cv2.putText(image, "warped", (20, 34), cv2.FONT_HERSHEY_SIMPLEX, 1.3, (0, 0, 0), 3)
    return TextLine(Path("x.png"), image, text="warped")


def applied(sample: TextLine, seed: int, **options: float) -> Any:
    return image_of(rec_augment(**options)(sample, np.random.default_rng(seed)))


@given(st.integers(1, 60), st.integers(1, 300), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_any_line_gives_a_valid_image_of_its_width(height: int, width: int, seed: int) -> None:
    sample = line(height, width)
    before = image_of(sample).copy()
    image = applied(sample, seed, **ALL)
    assert image.dtype == np.uint8
    assert image.shape[1:] == (width, 3)
    assert height - min(8, height // 5) <= image.shape[0] <= height
    np.testing.assert_array_equal(applied(sample, seed, **ALL), image)
    np.testing.assert_array_equal(image_of(sample), before)


def test_each_step_has_the_probability_of_paddleocr() -> None:
    assert rec_augment.__kwdefaults__ == dict.fromkeys(STEPS, 0.4)


@pytest.mark.parametrize("step", STEPS)
def test_probability_1_always_changes_a_line_and_probability_0_never(step: str) -> None:
    sample = word()
    changed = applied(sample, 3, **{**NONE, step: 1.0})
    assert not np.array_equal(changed, image_of(sample))
    np.testing.assert_array_equal(applied(sample, 3, **NONE), image_of(sample))


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_a_warp_keeps_the_ink_of_the_word(seed: int) -> None:
    """No stroke overlaps another or leaves the image: the area of the ink stays within half and twice its value."""
    before, after = (
        (image < 128).sum() for image in (image_of(word()), applied(word(), seed, **{**NONE, "tia_prob": 1}))
    )
    assert before / 2 < after < before * 2


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_a_warp_keeps_the_order_of_columns(seed: int) -> None:
    ramp = np.repeat(np.repeat(np.arange(0, 240, dtype=np.uint8)[None, :, None], 48, axis=0), 3, axis=2)
    warped = applied(TextLine(Path("x"), ramp), seed, **{**NONE, "tia_prob": 1})
    assert (np.diff(warped[..., 0].astype(int), axis=1) >= 0).all()


def test_an_inverted_line_is_its_negative_and_a_shift_repeats_the_first_rows() -> None:
    sample = word()
    np.testing.assert_array_equal(applied(sample, 0, **{**NONE, "reverse_prob": 1}), 255 - image_of(sample))
    noise = line(30, 90)
    jittered = applied(noise, 0, **{**NONE, "jitter_prob": 1})
    shifts = [by for by in range(1, 5) if np.array_equal(jittered[by:, by:], image_of(noise)[:-by, :-by])]
    assert len(shifts) == 1
