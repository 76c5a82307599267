"""CopyPaste: pasted texts are complete, do not overlap others, and depend only on the generator."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data.pages.copy_paste import copy_paste
from hccl_kit.ocr.data.pages.pages import Page, pad_polygons, unreadable
from hccl_kit.ocr.data.pipeline import pipeline
from hccl_kit.ocr.data.samples import BadSampleError

seeds = st.integers(0, 2**32 - 1)
TEXTS = ("one", "two", "three", "###")
QUADS: list[Any] = [
    [[10, 10], [60, 14], [58, 30], [8, 26]],
    [[70, 40], [130, 40], [130, 60], [70, 60]],
    [[20, 74], [90, 64], [94, 80], [60, 86], [24, 90]],
    [[100, 10], [140, 10], [140, 30], [100, 30]],
]


def page(shade: int, *, height: int = 120, width: int = 160, texts: tuple[str, ...] = TEXTS) -> Page:
    """A grey page; the text with number n has the value shade + n + 1."""
    polys = pad_polygons(QUADS[: len(texts)])
    image = np.full((height, width, 3), shade, np.uint8)
    for number, poly in enumerate(polys):
        cv2.fillPoly(image, [poly.astype(np.int32)], (shade + number + 1,) * 3)
    return Page(Path(f"{shade}.png"), image, polys=polys, texts=texts, ignored=unreadable(texts))


def pasted(target: Page, source: Page, seed: int = 0, **options: Any) -> Page:
    step = copy_paste(**{"p": 1.0, "objects_paste_ratio": 1.0, **options})
    return step(replace(target, others=[source]), np.random.default_rng(seed))


def filled(poly: Any, size: tuple[int, int]) -> Any:
    return cv2.fillPoly(np.zeros(size, np.uint8), [poly.astype(np.int32)], 1)


def image_of(made: Page) -> Any:
    assert made.image is not None
    return made.image


@given(seeds, st.integers(40, 400), st.integers(40, 400))
@settings(max_examples=80, deadline=None)
def test_a_pasted_text_is_complete_and_does_not_cover_others(seed: int, height: int, width: int) -> None:
    target, source = page(50, height=height, width=width, texts=TEXTS[2:]), page(200)
    made, count = pasted(target, source, seed), len(target.polys)
    assert made.texts[:count] == target.texts
    np.testing.assert_array_equal(made.polys[:count, :4], target.polys)
    assert len(made.polys) == len(made.texts) == len(made.ignored)
    assert not made.ignored[count:].any()
    expected, covered = image_of(target).copy(), sum(filled(poly, (height, width)) for poly in target.polys)
    for poly, text in zip(made.polys[count:], made.texts[count:], strict=True):
        assert (poly >= 0).all()
        assert (poly <= (width - 1, height - 1)).all()
        covered = covered + filled(poly, (height, width))
        expected[filled(poly, (height, width)) > 0] = 200 + TEXTS.index(text) + 1
    np.testing.assert_array_equal(image_of(made), expected)
    assert np.max(covered) <= 1


@given(seeds)
@settings(max_examples=30, deadline=None)
def test_the_result_depends_on_the_generator_and_the_input_is_unchanged(seed: int) -> None:
    target, source = page(50), page(200)
    one, two = (pasted(target, source, seed) for _ in range(2))
    np.testing.assert_array_equal(image_of(one), image_of(two))
    np.testing.assert_array_equal(one.polys, two.polys)
    np.testing.assert_array_equal(image_of(target), image_of(page(50)))
    np.testing.assert_array_equal(image_of(source), image_of(page(200)))


def test_all_readable_texts_fit_on_a_large_page_and_none_on_a_small_one() -> None:
    made = pasted(page(50, height=2000, width=2000), page(200))
    assert sorted(made.texts[4:]) == ["one", "three", "two"]
    small = page(50, height=12, width=30, texts=())
    assert pasted(small, page(200)).texts == ()


@pytest.mark.parametrize(
    ("options", "count"),
    [({}, 3), ({"objects_paste_ratio": 0.7}, 2), ({"objects_paste_ratio": 0}, 1), ({"most": 1}, 1), ({"p": 0}, 0)],
)
def test_the_number_of_pasted_texts_follows_the_options(options: dict[str, Any], count: int) -> None:
    target = page(50, height=3000, width=3000, texts=())
    assert len(pasted(target, page(200), **options).texts) == count


def test_a_text_beyond_its_page_and_a_page_without_text_give_nothing() -> None:
    beyond = page(200, height=40, width=50, texts=("one",))
    assert pasted(page(50, texts=()), beyond).texts == ()
    assert pasted(page(50, texts=()), page(200, texts=())).texts == ()


def test_without_a_readable_other_page_a_page_is_unchanged() -> None:
    def unreadable_page(_: Page, __: np.random.Generator) -> Page:
        raise BadSampleError("not an image")

    generator, target = np.random.default_rng(0), page(50)
    assert copy_paste(p=1)(target, generator) is target
    asked = replace(target, others=[page(200)])
    assert replace(copy_paste(p=1), prepare=unreadable_page)(asked, generator) is asked


def test_works_in_a_pipeline_before_moves_and_targets() -> None:
    target = replace(page(50, height=600, width=600), others=[page(200)])
    steps: list[dict[str, Any]] = [
        {"DecodeImage": None},
        {"CopyPaste": {"p": 1.0, "objects_paste_ratio": 1.0}},
        {"RandomRotate": {"degrees": [-45, 45]}},
        {"RandomPerspective": {"p": 1.0}},
        {"RandomScale": {"scale_range": [0.5, 2], "p": 1.0}},
        {"RandomCropWithBBox": {"crop_size": [256, 256], "p": 1.0}},
        {"CVColorJitter": {"brightness": 0.4, "contrast": 0.4, "saturation": 0.7, "hue": 0.1, "p": 1.0}},
        {"ValidatePolygons": {"clip_to_visible_area": True}},
        {"ShrinkBinaryMap": None},
        {"BorderMap": None},
    ]
    for seed in range(10):
        made, again = (pipeline(steps)(target, np.random.default_rng(seed)) for _ in range(2))
        assert image_of(made).shape == (256, 256, 3)
        assert len(made.maps) == 4
        assert ((made.polys > -0.01) & (made.polys < 256.01)).all()
        for one, other in zip((made.image, *made.maps), (again.image, *again.maps), strict=True):
            np.testing.assert_array_equal(one, other)
    with pytest.raises(KitError, match="CopyPaste follows the transforms that draw the targets"):
        pipeline([*steps[:-2], steps[-2], steps[1]])(target, np.random.default_rng(0))
