"""Augmentations of lines: random within their bounds, reproducible, and always a valid image."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hccl_kit.ocr.data.lines import line_augment
from hccl_kit.ocr.data.lines.line_augment import deterioration, geometry
from hccl_kit.ocr.data.samples import TextLine
from hccl_kit.ocr.data.transforms import Transform, colour_jitter, image_of

Make = Callable[..., Transform[TextLine]]
SVTR = {"variance": 20, "degrees": 6, "factor": 4}
STEPS: dict[str, Make] = {
    "one map": geometry,
    "some maps": lambda **more: geometry(aug_type=1, **more),
    "deterioration": lambda **more: deterioration(**SVTR, **more),
    "colour": colour_jitter,
}


def test_the_combined_transform_equals_the_three_in_sequence() -> None:
    sample = line(32, 100)
    steps = (
        geometry(degrees=45, translate=(0, 0), p=1),
        deterioration(**{**SVTR, "factor": 2}, p=1),
        colour_jitter(p=1),
    )
    options: dict[str, Any] = {"geometry_p": 1, "deterioration_p": 1, "colorjitter_p": 1, "deterioration_factor": 2}
    for seed in range(20):
        generator, expected = np.random.default_rng(seed), sample
        for step in steps:
            expected = step(expected, generator)
        np.testing.assert_array_equal(
            applied(line_augment.svtr_augment(**options), sample, seed),
            image_of(expected),
        )
    never: dict[str, Any] = dict.fromkeys(("geometry_p", "deterioration_p", "colorjitter_p"), 0.0)
    np.testing.assert_array_equal(applied(line_augment.svtr_augment(**never), sample, 0), image_of(sample))


def test_the_augmentation_of_svtr_has_the_probability_of_mindocr() -> None:
    likely = {"geometry_p": 0.5, "deterioration_p": 0.25, "colorjitter_p": 0.25}
    assert {"aug_type": 0, "deterioration_factor": 4, **likely} == line_augment.svtr_augment.__kwdefaults__


def line(height: int, width: int, seed: int = 0) -> TextLine:
    image = np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)
    return TextLine(Path("x.png"), image, text="x")


def applied(transform: Transform[TextLine], sample: TextLine, seed: int) -> NDArray[Any]:
    image = transform(sample, np.random.default_rng(seed)).image
    assert image is not None
    return image


@pytest.mark.parametrize("name", STEPS)
@given(st.integers(1, 60), st.integers(1, 300), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_any_line_gives_a_valid_image(name: str, height: int, width: int, seed: int) -> None:
    sample = line(height, width)
    assert sample.image is not None
    before = sample.image.copy()
    step = STEPS[name](p=1.0)
    image = applied(step, sample, seed)
    assert image.dtype == np.uint8
    assert image.ndim == 3
    assert image.shape[2] == 3
    assert min(image.shape) > 0
    assert max(image.shape) <= line_augment.MAX_SIDE * 2
    np.testing.assert_array_equal(applied(step, sample, seed), image)
    np.testing.assert_array_equal(sample.image, before)


@pytest.mark.parametrize("name", STEPS)
def test_the_probability_is_obeyed(name: str) -> None:
    sample = line(32, 100)
    for p, low, high in ((0.0, 0, 0), (0.25, 60, 140), (1.0, 330, 400)):
        step = STEPS[name](p=p)
        changed = sum(not np.array_equal(applied(step, sample, seed), image_of(sample)) for seed in range(400))
        assert low <= changed <= high, p


def test_geometry_without_a_range_changes_nothing_but_the_interpolation() -> None:
    step = geometry(degrees=0, translate=(0, 0), scale=(1, 1), shear=(0, 0), distortion=0, p=1)
    sample = line(20, 50)
    for seed in range(20):
        np.testing.assert_array_equal(applied(step, sample, seed), image_of(sample))


def test_a_rotated_line_is_complete() -> None:
    """The amount of ink on black does not change."""
    image = np.zeros((40, 120, 3), np.uint8)
    image[15:25, 10:110] = 200
    step = geometry(translate=(0.3, 0.3), scale=(1, 1), shear=(0, 0), distortion=0, p=1)
    for seed in range(30):
        turned = applied(step, TextLine(Path(), image), seed)
        assert turned.astype(float).sum() == pytest.approx(image.astype(float).sum(), rel=0.05)


def test_the_variance_of_noise_is_at_most_the_configured_one() -> None:
    sample = TextLine(Path(), np.full((64, 256, 3), 128, np.uint8))
    step = deterioration(variance=20, p=1)
    variances = [applied(step, sample, seed).astype(float).var() for seed in range(50)]
    assert 0.5 < min(variances) < 3
    assert 5 < max(variances) < 21


def test_a_coarser_line_has_less_detail() -> None:
    sample = line(32, 128)
    assert sample.image is not None
    step = deterioration(factor=4, p=1)
    details = [np.abs(np.diff(applied(step, sample, seed).astype(float), axis=1)).mean() for seed in range(20)]
    assert min(details) < 0.1 * np.abs(np.diff(sample.image.astype(float), axis=1)).mean()


def test_corners_move_inwards_by_at_most_their_share() -> None:
    """Half of `distortion` times a Beta(1, 4); a side moves by the minimum of its two corners, Beta(1, 8)."""
    step = geometry(degrees=0, translate=(0, 0), scale=(1, 1), shear=(0, 0), distortion=0.5, p=1)
    heights = [applied(step, line(200, 200), seed).shape[0] for seed in range(300)]
    moved = [height for height in heights if height != 200]
    assert 60 < len(moved) < 140  # one of three kinds
    assert min(moved) >= 100
    assert np.mean(moved) == pytest.approx(200 * (1 - 2 * 0.25 / 9), rel=0.015)
