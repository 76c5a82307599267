"""RecAug is reproducible and keeps the text in the image, and RecConAug joins lines as far as they fit."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data.lines.rec_augment import join_lines, rec_augment
from hccl_kit.ocr.data.pipeline import pipeline
from hccl_kit.ocr.data.samples import BadSampleError, TextLine
from hccl_kit.ocr.data.transforms import image_of
from tests.ocr.data.images import write_image

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


texts = st.text("abAB1é", min_size=1, max_size=12)
seeds = st.integers(0, 2**32 - 1)


def drawn(text: str, shade: int, *, height: int = 20, width: int = 40) -> TextLine:
    return TextLine(Path(f"{shade}.png"), np.full((height, width, 3), shade, np.uint8), text=text)


def joined(first: TextLine, others: Sequence[TextLine], seed: int, **options: Any) -> TextLine:
    step = join_lines(**{"prob": 1.0, **options})
    return step(replace(first, others=others), np.random.default_rng(seed))


@given(texts, st.lists(st.tuples(texts, st.integers(1, 60), st.integers(1, 200)), min_size=1, max_size=4), seeds)
@settings(max_examples=80, deadline=None)
def test_a_joined_line_respects_the_limits_and_shows_its_parts(
    text: str, rows: list[tuple[str, int, int]], seed: int
) -> None:
    first = drawn(text, 255)
    others = [drawn(row, shade, height=h, width=w) for shade, (row, h, w) in enumerate(rows, 1)]
    made = joined(first, others, seed)
    if made.text == text:
        np.testing.assert_array_equal(image_of(made), image_of(first))
        return
    image = image_of(made)
    assert image.shape[0] == 48
    assert image.shape[1] <= 320
    lowered = made.text.lower()
    assert len(lowered) + sum(a == b for a, b in pairwise(lowered)) <= 25
    shades = [int(image[0, 0, 0]), *(int(b) for a, b in pairwise(image[0, :, 0]) if a != b)]
    parts = [{255: first, **dict(enumerate(others, 1))}[shade].text for shade in shades]
    assert shades[0] == 255
    assert made.text in {"".join(parts), "".join(parts) + parts[-1]}  # a line may occur twice


@given(seeds)
@settings(max_examples=30, deadline=None)
def test_the_result_depends_only_on_the_generator(seed: int) -> None:
    others = [drawn("x" * 2, shade) for shade in range(50)]
    one, two = (joined(drawn("a", 255), others, seed) for _ in range(2))
    assert one.text == two.text == "axxxx"
    np.testing.assert_array_equal(image_of(one), image_of(two))


def test_half_of_the_lines_are_joined_and_none_without_others() -> None:
    step, others = join_lines(), [drawn("b", 1)]
    made = [step(replace(drawn("a", 255), others=others), np.random.default_rng(seed)).text for seed in range(400)]
    assert set(made) == {"a", "abb"}
    assert 160 < made.count("a") < 240
    assert step(drawn("a", 255), np.random.default_rng(1)).text == "a"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "abcbc"),
        ({"ext_data_num": 1}, "abc"),
        ({"max_text_length": 4}, "abc"),
        ({"max_text_length": 2}, "a"),
        ({"image_shape": [48, 192]}, "abc"),  # a line of 20 x 40 is 96 wide
        ({"image_shape": [48, 191]}, "a"),
        ({"image_shape": [10, 60]}, "abcbc"),
    ],
)
def test_a_line_that_exceeds_a_limit_is_not_joined(options: dict[str, Any], text: str) -> None:
    assert joined(drawn("a", 255), [drawn("bc", 1)], 0, **options).text == text


def test_equal_neighbours_need_a_ctc_blank() -> None:
    """Also if they differ in case: the labels may be lower case."""
    assert joined(drawn("a", 255), [drawn("A", 1)], 0, ext_data_num=1, max_text_length=3).text == "aA"
    assert joined(drawn("a", 255), [drawn("A", 1)], 0, ext_data_num=1, max_text_length=2).text == "a"


def test_an_unreadable_other_line_is_skipped() -> None:
    def unreadable(_: TextLine, __: np.random.Generator) -> TextLine:
        raise BadSampleError("not an image")

    step = replace(join_lines(prob=1), prepare=unreadable)
    assert step(replace(drawn("a", 255), others=[drawn("b", 1)]), np.random.default_rng(0)).text == "a"


def test_in_a_pipeline_the_previous_transforms_load_the_other_lines(tmp_path: Path) -> None:
    write_image(tmp_path / "0.png", 10)
    write_image(tmp_path / "1.png", 90)
    rows = [TextLine(tmp_path / f"{number}.png", text=text) for number, text in enumerate("ab")]
    made = pipeline(
        [
            {"DecodeImage": {"img_mode": "BGR"}},
            {"RecConAug": {"prob": 1.0, "ext_data_num": 1}},
            {"RecCTCLabelEncode": None},
            {"RecResizeImg": {"image_shape": [48, 320]}},
        ]
    )(replace(rows[0], others=rows[1:]), np.random.default_rng(0))
    assert made.text == "ab"
    assert made.label == (10, 11)
    assert made.columns == 192
    assert [int(image_of(made)[24, x, 0]) for x in (40, 150, 250)] == [10, 90, 0]


def test_a_label_that_is_encoded_already_is_an_error() -> None:
    with pytest.raises(KitError, match="follows the transform that encodes labels"):
        joined(replace(drawn("a", 255), label=(1,)), [], 0)
