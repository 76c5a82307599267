"""RecConAug: joined lines show every text, respect the limits, and depend only on the generator."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data.lines.line_join import join_lines
from hccl_kit.ocr.data.pipeline import pipeline
from hccl_kit.ocr.data.samples import BadSampleError, TextLine
from hccl_kit.ocr.data.transforms import image_of
from tests.ocr.data.images import write_image

texts = st.text("abAB1é", min_size=1, max_size=12)
seeds = st.integers(0, 2**32 - 1)


def line(text: str, shade: int, *, height: int = 20, width: int = 40) -> TextLine:
    return TextLine(Path(f"{shade}.png"), np.full((height, width, 3), shade, np.uint8), text=text)


def joined(first: TextLine, others: Sequence[TextLine], seed: int, **options: Any) -> TextLine:
    step = join_lines(**{"prob": 1.0, **options})
    return step(replace(first, others=others), np.random.default_rng(seed))


@given(texts, st.lists(st.tuples(texts, st.integers(1, 60), st.integers(1, 200)), min_size=1, max_size=4), seeds)
@settings(max_examples=80, deadline=None)
def test_a_joined_line_respects_the_limits_and_shows_its_parts(
    text: str, rows: list[tuple[str, int, int]], seed: int
) -> None:
    first = line(text, 255)
    others = [line(row, shade, height=h, width=w) for shade, (row, h, w) in enumerate(rows, 1)]
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
    others = [line("x" * 2, shade) for shade in range(50)]
    one, two = (joined(line("a", 255), others, seed) for _ in range(2))
    assert one.text == two.text == "axxxx"
    np.testing.assert_array_equal(image_of(one), image_of(two))


def test_half_of_the_lines_are_joined_and_none_without_others() -> None:
    step, others = join_lines(), [line("b", 1)]
    made = [step(replace(line("a", 255), others=others), np.random.default_rng(seed)).text for seed in range(400)]
    assert set(made) == {"a", "abb"}
    assert 160 < made.count("a") < 240
    assert step(line("a", 255), np.random.default_rng(1)).text == "a"


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
    assert joined(line("a", 255), [line("bc", 1)], 0, **options).text == text


def test_equal_neighbours_need_a_ctc_blank() -> None:
    """Also if they differ in case: the labels may be lower case."""
    assert joined(line("a", 255), [line("A", 1)], 0, ext_data_num=1, max_text_length=3).text == "aA"
    assert joined(line("a", 255), [line("A", 1)], 0, ext_data_num=1, max_text_length=2).text == "a"


def test_an_unreadable_other_line_is_skipped() -> None:
    def unreadable(_: TextLine, __: np.random.Generator) -> TextLine:
        raise BadSampleError("not an image")

    step = replace(join_lines(prob=1), prepare=unreadable)
    assert step(replace(line("a", 255), others=[line("b", 1)]), np.random.default_rng(0)).text == "a"


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
        joined(replace(line("a", 255), label=(1,)), [], 0)
