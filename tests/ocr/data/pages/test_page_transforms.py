"""Validation and resizing of pages; results equal the reference where it has values."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hccl_kit.ocr.data.pages import page_moves, page_transforms
from hccl_kit.ocr.data.pages.page_labels import parse_json
from hccl_kit.ocr.data.pages.pages import Page, pad_polygons, unreadable
from hccl_kit.ocr.data.pipeline import pipeline
from hccl_kit.ocr.data.samples import BadSampleError
from tests.ocr.reference import REFERENCE, reference_arrays

GENERATOR = np.random.default_rng(0)
SQUARE: list[list[float]] = [[10, 10], [30, 10], [30, 20], [10, 20]]


def page_of(*polys: list[list[float]], height: int = 50, width: int = 80, texts: tuple[str, ...] = ()) -> Page:
    texts = texts or tuple(f"t{n}" for n in range(len(polys)))
    image = np.zeros((height, width, 3), np.uint8)
    return Page(Path("page.png"), image, pad_polygons(polys), texts, unreadable(texts))


def shape_of(page: Page) -> tuple[int, ...]:
    assert page.image is not None
    return page.image.shape


def shifted(x: float, y: float) -> list[list[float]]:
    return [[a + x, b + y] for a, b in SQUARE]


def test_a_page_without_text_is_a_bad_sample_for_training() -> None:
    with pytest.raises(BadSampleError, match="no text region"):
        page_transforms.encode_label()(page_of(), GENERATOR)


@pytest.mark.parametrize(("x", "y"), [(80, 0), (-31, 0), (0, 50), (0, -21)])
def test_a_polygon_outside_the_image_is_a_bad_sample(x: float, y: float) -> None:
    page = page_of(SQUARE, shifted(x, y))
    with pytest.raises(BadSampleError, match=r"polygon 2 of 2 lies outside the image of 80 x 50: \[\["):
        page_transforms.encode_label()(page, GENERATOR)
    partly = page_of(shifted(x - 15 * np.sign(x), y - 15 * np.sign(y)))
    assert page_transforms.encode_label()(partly, GENERATOR) is partly


def test_labels_are_checked_even_before_the_image_is_loaded() -> None:
    page = replace(page_of(shifted(999, 0)), image=None)
    assert page_transforms.encode_label()(page, GENERATOR) is page


def validated(page: Page, **options: Any) -> Page:
    return page_transforms.validate_polygons(**options)(page, GENERATOR)


def cut(page: Page, **options: Any) -> Page:
    return validated(page, clip_to_visible_area=True, **options)


def test_a_polygon_inside_the_image_is_unchanged() -> None:
    for step in (validated, cut):
        page = step(page_of(SQUARE, [*SQUARE, [5, 15]], texts=("a", "###")))
        assert page.polys.tolist() == [[*SQUARE, SQUARE[-1]], [*SQUARE, [5, 15]]]
        assert page.texts == ("a", "###")
        assert page.ignored.tolist() == [False, True]


def test_self_intersecting_polygons_and_those_outside_the_image_are_dropped() -> None:
    bow: list[list[float]] = [[10, 10], [30, 20], [30, 10], [10, 20]]
    line: list[list[float]] = [[1, 1], [5, 5], [9, 9], [5, 5]]
    for step in (validated, cut):
        page = step(page_of(bow, SQUARE, shifted(80, 0), line))
        assert page.texts == ("t1",)
        assert page.polys.tolist() == [SQUARE]


def test_a_page_without_polygons_is_valid() -> None:
    assert validated(page_of()).polys.shape == (0, 4, 2)
    assert validated(page_of(shifted(99, 0))).polys.shape == (0, 4, 2)


def test_a_polygon_partly_outside_is_clipped_only_on_request() -> None:
    """MindOCR's default does not clip it: only the visible part counts."""
    partly = shifted(60, 0)
    assert validated(page_of(partly)).polys.tolist() == [partly]
    assert cut(page_of(partly)).polys[0].max(0).tolist() == [80, 20]
    touching = page_of(shifted(70, 0))
    assert validated(touching).polys.tolist() == [shifted(70, 0)]
    assert validated(touching).ignored.tolist() == [True]
    assert cut(touching).texts == ()


@given(st.integers(-40, 90), st.integers(-30, 60))
@settings(max_examples=100, deadline=None)
def test_a_clipped_polygon_is_its_visible_part(x: int, y: int) -> None:
    page = cut(page_of(shifted(x, y)))
    left, right = np.clip([10 + x, 30 + x], 0, 80)
    top, bottom = np.clip([10 + y, 20 + y], 0, 50)
    if left == right or top == bottom:
        assert len(page.polys) == 0
    else:
        assert cv2.contourArea(page.polys[0]) == (right - left) * (bottom - top)
        assert page.polys[0].min(0).tolist() == [left, top]
        assert not page.ignored[0]


@pytest.mark.parametrize("step", [validated, cut])
def test_a_sliver_is_marked_as_ignored(step: Callable[..., Page]) -> None:
    assert step(page_of(shifted(69.95, 0))).ignored.tolist() == [True]
    assert step(page_of(shifted(69.95, 0)), min_area=0.1).ignored.tolist() == [False]
    assert step(page_of(SQUARE), min_area=201).ignored.tolist() == [True]


def test_a_polygon_with_too_few_corners_is_ignored_when_clipping() -> None:
    triangle: list[list[float]] = [[10, 10], [30, 10], [30, 20]]
    page = page_of(triangle, SQUARE)
    assert cut(page).ignored.tolist() == [True, False]
    assert cut(page, min_vertices=3).ignored.tolist() == [False, False]
    assert validated(page).ignored.tolist() == [False, False]


def test_the_largest_piece_of_a_clipped_polygon_is_kept() -> None:
    comb: list[list[float]] = [[-20, 0], [-10, 0], [20, 0], [20, 8], [-10, 8], [-10, 20], [30, 20], [30, 40], [-20, 40]]
    page = cut(page_of(comb))
    assert len(page.polys) == 1
    assert cv2.contourArea(page.polys[0]) == 30 * 20


def test_the_black_border_of_a_crop_is_outside_the_image() -> None:
    assert validated(replace(page_of(shifted(31, 0)), content=(50, 40))).texts == ()
    assert cut(replace(page_of(shifted(5, 0)), content=(50, 30))).polys[0].max(0).tolist() == [30, 20]


sizes = st.integers(1, 400)


@given(sizes, sizes, st.sampled_from(["min", "max"]), st.integers(32, 320))
@example(1, 308, "max", 175)
@example(37, 44, "min", 209)
@settings(max_examples=60, deadline=None)
def test_a_limited_side_keeps_the_ratio_up_to_the_divisor(height: int, width: int, limit: str, side: int) -> None:
    step = page_transforms.resize(limit_type=limit, limit_side_len=side)
    page = step(page_of(height=height, width=width), GENERATOR)
    new_height, new_width = shape_of(page)[:2]
    assert new_height % 32 == new_width % 32 == 0
    if limit == "max":
        assert max(new_height, new_width) <= max(side, 32) + 16
    else:
        # 37 * (209 / 37) is just below 209, so 208 whole pixels are left, halfway from 192 to 224: 192 is used.
        assert min(new_height, new_width) >= side - 17
    assert page.shape is not None
    np.testing.assert_allclose([page.shape.scale_h * height, page.shape.scale_w * width], [new_height, new_width])


@given(sizes, sizes)
@settings(max_examples=40, deadline=None)
def test_a_padded_page_keeps_its_ratio_and_has_the_target_size(height: int, width: int) -> None:
    white = replace(page_of(height=height, width=width), image=np.full((height, width, 3), 255, np.uint8))
    page = page_transforms.scale_pad(target_size=[100, 150])(white, GENERATOR)
    assert shape_of(page) == (100, 150, 3)
    assert page.content is not None
    assert page.image is not None
    ratio = min(100 / height, 150 / width)
    np.testing.assert_allclose(page.content, [height * ratio, width * ratio], atol=1)
    assert (page.image[: page.content[0], : page.content[1]] == 255).all()
    assert page.image.sum() == 255 * 3 * page.content[0] * page.content[1]


def test_polygons_are_scaled_with_the_image_and_can_be_mapped_back() -> None:
    page = page_transforms.resize(target_size=[64, 160], keep_ratio=False)(
        page_of(SQUARE, height=32, width=40), GENERATOR
    )
    assert page.polys.tolist() == [[[40, 20], [120, 20], [120, 40], [40, 40]]]
    assert page.source_polys.tolist() == [SQUARE]
    assert page.shape == (32, 40, 2, 4)


EAST: dict[str, Any] = {"target_size": [720, 1280], "force_divisable": False}
PADDED: dict[str, Any] = {"target_size": [736, 1280], "padding": True}


@pytest.mark.parametrize(
    ("options", "before", "inner"),
    [
        (EAST, (720, 1280), (704, 1280)),  # MindOCR's EAST on a page of ICDAR 2015
        (EAST, (600, 333), (704, 384)),
        (PADDED, (720, 1280), (704, 1280)),  # rounded before it is padded
        (PADDED, (613, 921), (736, 1120)),
        ({"target_size": [720, 1280]}, (500, 700), (704, 992)),
        ({"target_size": [100, 150], "keep_ratio": False, "divisor": 20}, (45, 70), (100, 160)),
        ({"limit_side_len": 100, "force_divisable": False}, (30, 41), (96, 128)),
        ({"limit_type": "max", "limit_side_len": 333, "divisor": 64}, (500, 700), (256, 320)),
        ({"limit_type": "min", "limit_side_len": 240}, (79, 213), (256, 640)),
        ({"limit_type": "max", "limit_side_len": 200}, (101, 303), (64, 192)),
        ({"limit_type": "max", "limit_side_len": 333}, (500, 121), (320, 64)),  # 80.6 columns are 80, and so 64
        ({"target_size": [720, 1270], "force_divisable": False}, (720, 1280), (704, 1270)),  # at most the target
        ({"limit_type": "none"}, (33, 65), (64, 96)),
        ({"limit_type": None}, (50, 90), (64, 96)),
        ({"limit_type": "None", "force_divisable": False}, (50, 90), (50, 90)),
    ],
)
def test_a_page_has_the_same_size_as_in_mindocr(
    options: dict[str, Any], before: tuple[int, int], inner: tuple[int, int]
) -> None:
    """Sizes computed by MindOCR 0.5.0; `inner` is the area of the page."""
    height, width = before
    page = page_transforms.resize(**options)(page_of(height=height, width=width), GENERATOR)
    assert shape_of(page)[:2] == ((736, 1280) if options is PADDED else inner)
    assert page.shape == pytest.approx((height, width, inner[0] / height, inner[1] / width))


def test_a_padded_page_is_not_rounded_up_to_the_divisor() -> None:
    step = page_transforms.resize(target_size=[100, 150], padding=True, divisor=20)
    page = step(page_of(height=45, width=70), GENERATOR)
    assert shape_of(page)[:2] == (100, 160)
    assert page.content == (96, 160)


def test_grid_resize_rounds_up() -> None:
    assert shape_of(page_transforms.grid_resize(factor=10)(page_of(height=41, width=80), GENERATOR)) == (50, 80, 3)


def test_an_extremely_long_strip_is_a_bad_sample() -> None:
    strip = page_of(height=1, width=1000)
    with pytest.raises(BadSampleError, match="it would become 736000 x 736 pixels; accepted: up to 67108864 in total"):
        page_transforms.resize(limit_type="min")(strip, GENERATOR)
    with pytest.raises(BadSampleError, match="it would become 100000 x 100000 pixels"):
        page_moves.scale(scale_range=[100, 100], p=1)(page_of(height=1000, width=1000), GENERATOR)


def test_sizes_match_the_reference() -> None:
    rows = json.loads((REFERENCE / "det_resize_shapes.json").read_text(encoding="utf-8"))
    assert len(rows) > 10
    for row in rows:
        height, width = row["in_hw"]
        page = page_transforms.resize(**row["options"])(page_of(height=height, width=width), GENERATOR)
        assert list(shape_of(page)[:2]) == row["out_hw"], row
        assert page.shape == pytest.approx(row["shape_list"], rel=1e-6)


def test_pixels_match_the_reference() -> None:
    arrays = reference_arrays("input_transforms.npz")
    image = np.random.default_rng(22).integers(0, 256, (45, 70, 3)).astype(np.uint8)
    page = page_transforms.resize(target_size=[64, 96], keep_ratio=False)(Page(Path(), image), GENERATOR)
    assert page.image is not None
    np.testing.assert_array_equal(page.image, arrays["det_resize_64x96"])
    steps: list[dict[str, Any]] = [{"NormalizeImage": {"mean": "imagenet", "std": "imagenet"}}, {"ToCHWImage": None}]
    normal = pipeline(steps)(Page(Path(), image), GENERATOR).image
    np.testing.assert_allclose(normal[:, ::2, ::2], arrays["det_norm"], rtol=1e-6)


@pytest.mark.parametrize("case", ["a", "b"])
def test_labels_match_the_reference(case: str) -> None:
    arrays = reference_arrays("db_targets.npz")
    regions = parse_json(str(arrays[f"{case}_label_json"]))
    texts = tuple(text for text, _ in regions)
    polys = pad_polygons([corners for _, corners in regions])
    np.testing.assert_array_equal(polys, arrays[f"{case}_encoded_polys"])
    np.testing.assert_array_equal(unreadable(texts), arrays[f"{case}_ignore_before"])
    image = np.zeros((160, 160, 3), np.uint8)
    page = validated(Page(Path(), image, polys, texts, unreadable(texts)))
    assert len(page.polys) == len(arrays[f"{case}_ignore_after"])
