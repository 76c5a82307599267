"""Geometric moves of a page: polygons stay on their text, crops cut none, and joined moves equal single ones."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data.pages import page_moves
from hccl_kit.ocr.data.pages.pages import Page, pad_polygons, unreadable
from hccl_kit.ocr.data.pages.views import Moves, enlarged, join
from hccl_kit.ocr.data.pipeline import pipeline
from hccl_kit.ocr.data.transforms import Transform

QUADS = [
    [[30, 20], [90, 26], [88, 46], [28, 40]],
    [[120, 60], [180, 60], [180, 80], [120, 80]],
    [[40, 100], [100, 90], [104, 110], [44, 120]],
]
HEIGHT, WIDTH = 140, 210
seeds = st.integers(0, 2**32 - 1)


def page_of(*texts: str, quads: list[Any] = QUADS) -> Page:
    """A black page whose text regions are white."""
    polys = pad_polygons(quads)
    image = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    cv2.fillPoly(image, list(polys.astype(np.int32)), (255, 255, 255))
    texts = texts or ("word",) * len(quads)
    return Page(Path("page.png"), image, polys, texts, unreadable(texts))


def image_of(page: Page) -> Any:
    assert page.image is not None
    return page.image


STEPS: dict[str, Callable[[], Transform[Page]]] = {
    "flip": lambda: page_moves.flip(p=1),
    "rotate": lambda: page_moves.rotate(degrees=[-30, 30], expand_canvas=False),
    "rotate and grow": lambda: page_moves.rotate(degrees=[-60, 60]),
    "perspective": lambda: page_moves.perspective(p=1),
    "strong perspective": lambda: page_moves.perspective(distortion=0.25, p=1),
    "scale": lambda: page_moves.scale(scale_range=[0.5, 3], p=1),
    "crop": lambda: page_moves.crop(crop_size=[160, 120], p=1),
    "whole": lambda: page_moves.crop(crop_size=[160, 120], p=0),
    "iaa": lambda: page_moves.iaa_augment(Fliplr={"p": 0.5}, Affine={"rotate": [-10, 10]}),
}
ALL = ("flip", "rotate", "perspective", "scale", "crop")


@pytest.mark.parametrize("name", STEPS)
@given(seeds)
@settings(max_examples=25, deadline=None)
def test_polygons_stay_on_their_text(name: str, seed: int) -> None:
    moved = STEPS[name]()(page_of(), np.random.default_rng(seed))
    drawn = np.zeros(image_of(moved).shape[:2], np.uint8)
    cv2.fillPoly(drawn, list(np.rint(moved.polys).astype(np.int32)), 255)
    height, width = moved.content or drawn.shape
    drawn[height:], drawn[:, width:] = 0, 0  # polygons outside of the crop
    white = image_of(moved)[..., 0] > 127
    both, either = (white & (drawn > 0)).sum(), (white | (drawn > 0)).sum()
    assert both > 0.8 * either


@pytest.mark.parametrize("name", STEPS)
def test_moves_are_pure(name: str) -> None:
    page = page_of()
    image, polys = image_of(page).copy(), page.polys.copy()
    one, two = (STEPS[name]()(page, np.random.default_rng(5)) for _ in range(2))
    np.testing.assert_array_equal(image_of(one), image_of(two))
    np.testing.assert_array_equal(one.polys, two.polys)
    np.testing.assert_array_equal(image_of(page), image)
    np.testing.assert_array_equal(page.polys, polys)


@given(seeds)
@settings(max_examples=40, deadline=None)
def test_joined_moves_give_the_same_image_as_single_ones(seed: int) -> None:
    """On an image without sharp edges: joined moves interpolate once, single ones four times.

    Single moves lose content that leaves the page, even if the next one would move it back.
    """
    page = page_of()
    blurred = cv2.GaussianBlur(image_of(page), (0, 0), 4)
    steps = [STEPS[name]() for name in ALL]
    [joined] = join(steps)
    whole = joined(replace(page, image=blurred), np.random.default_rng(seed))
    one_by_one = in_turn(steps, replace(page, image=blurred), seed)
    np.testing.assert_allclose(whole.polys, one_by_one.polys, atol=0.01)
    assert whole.content == one_by_one.content
    assert image_of(whole).shape == (160, 120, 3)
    is_kept = image_of(in_turn(steps, replace(page, image=np.full_like(blurred, 255)), seed)) == 255
    difference = np.abs(image_of(whole).astype(int) - image_of(one_by_one))
    assert np.quantile(difference[is_kept], 0.98) <= 8  # one column further to the right it is 12 or more


def in_turn(steps: Iterable[Transform[Page]], page: Page, seed: int) -> Page:
    generator = np.random.default_rng(seed)
    for step in steps:
        page = step(page, generator)
    return page


def test_only_consecutive_moves_up_to_a_crop_are_joined() -> None:
    def other(page: Page, _: np.random.Generator) -> Page:
        return page

    flip, crop = STEPS["flip"](), STEPS["crop"]()
    joined = join([flip, flip, other, flip, crop, flip])
    assert [len(step.moves) if isinstance(step, Moves) else 0 for step in joined] == [2, 0, 2, 1]
    assert join([]) == []


@given(seeds)
@settings(max_examples=40, deadline=None)
def test_a_perspective_view_keeps_all_texts_and_the_order_of_their_corners(seed: int) -> None:
    moved = page_moves.perspective(p=1)(page_of(), np.random.default_rng(seed))
    assert image_of(moved).shape == (HEIGHT, WIDTH, 3)
    assert (moved.polys >= 0).all()
    assert (moved.polys < (WIDTH, HEIGHT)).all()
    for before, after in zip(page_of().polys, moved.polys, strict=True):
        assert cv2.contourArea(after, oriented=True) * cv2.contourArea(before, oriented=True) > 0


def test_a_corner_far_outside_the_page_stays_on_its_side() -> None:
    page = page_of(quads=[*QUADS, [[5000, 20], [9000, 20], [9000, 40], [5000, 40]]])
    for seed in range(50):
        moved = page_moves.perspective(distortion=0.25, p=1)(page, np.random.default_rng(seed))
        assert np.isfinite(moved.polys).all()
        assert (moved.polys[-1, :, 0] > WIDTH).all()


def test_a_flip_moves_whole_pixels_and_a_second_flip_reverses_it() -> None:
    page, generator = page_of(), np.random.default_rng(0)
    np.testing.assert_array_equal(image_of(page_moves.flip(p=1)(page, generator)), image_of(page)[:, ::-1])
    twice = page_moves.flip(p=1)(page_moves.flip(p=1)(page, generator), generator)
    np.testing.assert_array_equal(image_of(twice), image_of(page))
    np.testing.assert_array_equal(twice.polys, page.polys)


@pytest.mark.parametrize("name", ["flip", "rotate", "scale"])
def test_polygons_keep_their_orientation(name: str) -> None:
    def areas(page: Page) -> Any:
        x, y = page.polys[..., 0], page.polys[..., 1]
        return (x * np.roll(y, -1, 1) - y * np.roll(x, -1, 1)).sum(1)

    assert (areas(page_of()) > 0).all()
    assert (areas(STEPS[name]()(page_of(), np.random.default_rng(1))) > 0).all()


@pytest.mark.parametrize("make", [page_moves.flip, page_moves.rotate])
def test_a_move_with_probability_0_changes_nothing(make: Callable[..., Transform[Page]]) -> None:
    page = page_of()
    assert make(p=0)(page, np.random.default_rng(0)).image is page.image
    assert page_moves.scale(scale_range=[2, 2], p=0)(page, np.random.default_rng(0)).image is page.image


@given(seeds)
@settings(max_examples=60, deadline=None)
def test_a_scale_stays_within_its_limits(seed: int) -> None:
    generator = np.random.default_rng(seed)
    free = page_moves.scale(scale_range=[3, 0.5], p=1)(page_of(), np.random.default_rng(seed))
    assert 0.5 * HEIGHT - 1 <= image_of(free).shape[0] <= 3 * HEIGHT + 1
    page = page_moves.scale(scale_range=[0.1, 9], size_limits=[400, 100], p=1)(page_of(), generator)
    assert min(image_of(page).shape[:2]) >= 100
    assert max(image_of(page).shape[:2]) <= 400
    narrow = page_moves.scale(scale_range=[1.5, 1.5], size_limits=[1, 9999], p=1)(page_of(), generator)
    assert image_of(narrow).shape[:2] == (210, 315)


@given(seeds)
@settings(max_examples=60, deadline=None)
def test_a_crop_cuts_no_text_and_contains_some(seed: int) -> None:
    """A polygon is inside or outside of the crop, up to a rounding of half a pixel of the page."""
    page = page_moves.crop(crop_size=[96, 96], p=1)(page_of(), np.random.default_rng(seed))
    assert page.content is not None
    height, width = page.content
    assert max(page.content) <= 96
    lows, highs = page.polys.min(axis=1), page.polys.max(axis=1)
    slack = 0.5 * 96 / 14  # a crop has at least 14 rows
    inside = ((lows > -slack) & (highs < np.array([width, height]) + slack)).all(axis=1)
    outside = ((highs < slack) | (lows > np.array([width, height]) - slack)).any(axis=1)
    assert (inside | outside).all()
    assert inside.any()


def test_an_ignored_text_may_be_cut() -> None:
    wide = [[0, 0], [WIDTH - 1, 0], [WIDTH - 1, 90], [0, 90]]
    readable, ignored = (
        page_of("a", "b", "c", "d", quads=[*QUADS, wide]),
        page_of("a", "b", "c", "###", quads=[*QUADS, wide]),
    )
    step = page_moves.crop(crop_size=[96, 96], p=1)
    seen = {
        name: {step(page, np.random.default_rng(seed)).content for seed in range(10)}
        for name, page in (("readable", readable), ("ignored", ignored))
    }
    assert seen["readable"] == {(64, 96)}
    assert len(seen["ignored"]) > 1


@pytest.mark.parametrize("quads", [[], [[[0, 0], [WIDTH, 0], [WIDTH, HEIGHT], [0, HEIGHT]]]], ids=["no text", "full"])
def test_without_a_possible_crop_the_whole_page_is_used(quads: list[Any]) -> None:
    page = page_moves.crop(crop_size=[70, 300], p=1)(page_of(quads=quads), np.random.default_rng(0))
    assert image_of(page).shape == (70, 300, 3)
    assert page.content == (70, 105)
    assert (image_of(page)[:, 105:] == 0).all()
    np.testing.assert_allclose(page.polys, np.array(quads).reshape(-1, 4, 2) / 2, atol=0.3)


def test_a_strongly_reduced_page_is_averaged() -> None:
    """Every fourth row is white: at a quarter of the height, the page is 25 % grey, not black or white."""
    image = np.zeros((400, 400, 3), np.uint8)
    image[::4] = 255
    small = image_of(page_moves.scale(scale_range=[0.25, 0.25], p=1)(Page(Path(), image), np.random.default_rng(0)))
    assert small.shape == (100, 100, 3)
    assert np.abs(small[2:-2].astype(int) - 64).max() <= 2


@pytest.mark.parametrize(
    "step",
    [
        page_moves.scale(scale_range=[3, 3], p=1),
        page_moves.crop(crop_size=[3 * HEIGHT, 3 * WIDTH], p=0),
        pipeline([{"RandomHorizontalFlip": {"p": 1}}, {"RandomScale": {"scale_range": [3, 3], "p": 1}}]),
        Moves((lambda view, _: enlarged(view, 3 * HEIGHT),)),
    ],
    ids=["scale", "crop", "flip and scale", "shortest edge"],
)
def test_an_enlarged_page_keeps_its_edges(step: Transform[Page]) -> None:
    """They equal the result of `cv2.resize`, which MindOCR uses: no black from outside is mixed in."""
    white = replace(page_of(), image=np.full((HEIGHT, WIDTH, 3), 255, np.uint8))
    assert (image_of(step(white, np.random.default_rng(0))) == 255).all()
    noise = np.random.default_rng(1).integers(0, 256, (HEIGHT, WIDTH, 3)).astype(np.uint8)
    grown = image_of(step(replace(page_of(), image=noise), np.random.default_rng(0))).astype(int)
    expected = cv2.resize(noise, None, fx=3, fy=3).astype(int)
    if np.abs(grown - expected).max() > 8:  # a flipped page
        expected = expected[:, ::-1]
    assert np.abs(grown - expected).max() <= 8  # warpAffine counts in parts of 1/32 of a pixel


def test_the_area_outside_a_rotated_page_is_black() -> None:
    white = replace(page_of(), image=np.full((HEIGHT, WIDTH, 3), 255, np.uint8))
    turned = image_of(page_moves.rotate(degrees=[30, 30])(white, np.random.default_rng(0)))
    assert turned[0, 0].tolist() == turned[-1, -1].tolist() == [0, 0, 0]


def test_a_rotation_with_a_growing_canvas_loses_no_corner() -> None:
    page = replace(page_of(), image=np.full((HEIGHT, WIDTH, 3), 255, np.uint8))
    turned = page_moves.rotate(degrees=[90, 90])(page, np.random.default_rng(0))
    assert image_of(turned).shape[:2] == (WIDTH, HEIGHT)
    assert (image_of(turned) > 0).mean() > 0.98


def test_a_range_the_wrong_way_round_is_refused() -> None:
    with pytest.raises(KitError, match=r"RandomRotate: degrees is \[10, -10\]; accepted: \[lowest, highest\]"):
        page_moves.rotate(degrees=[10, -10])


def test_a_pipeline_joins_its_moves() -> None:
    scale, crop = {"scale_range": [2, 3], "p": 1.0}, {"crop_size": [64, 64], "p": 1.0}
    steps: list[dict[str, Any]] = [{"RandomScale": scale}, {"RandomCropWithBBox": crop}]
    [joined] = join([page_moves.scale(scale_range=[2, 3], p=1), page_moves.crop(crop_size=[64, 64], p=1)])
    page = page_of()
    through = pipeline(steps)(page, np.random.default_rng(2))
    np.testing.assert_array_equal(image_of(through), image_of(joined(page, np.random.default_rng(2))))
