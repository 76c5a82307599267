"""The transforms are pure functions; the effect of each on an image."""

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data import transforms
from hccl_kit.ocr.data.lines import line_transforms
from hccl_kit.ocr.data.pages.pages import Page
from hccl_kit.ocr.data.pipeline import pipeline
from hccl_kit.ocr.data.samples import BadSampleError, Sample, TextLine
from hccl_kit.ocr.data.transforms import PixelFormat, Transform, pixel_format
from tests.ocr.data.images import PIPELINE, png_of, write_image
from tests.ocr.reference import reference_arrays

GENERATOR = np.random.default_rng(0)


def noise(height: int, width: int, seed: int = 0) -> NDArray[np.uint8]:
    drawn: NDArray[np.uint8] = np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)
    return drawn


def applied(transform: Transform[TextLine], image: NDArray[Any]) -> NDArray[Any]:
    result = transform(TextLine(Path("x.png"), image, "x"), GENERATOR).image
    assert result is not None
    return result


STEPS: list[Callable[[], Transform[TextLine]]] = [
    lambda: line_transforms.encode_label(max_text_len=8),
    lambda: line_transforms.resize(image_shape=[32, 100]),
    lambda: line_transforms.resize(image_shape=[32, 100], padding=True),
    transforms.normalize,
    lambda: transforms.normalize(bgr_to_rgb=True, mean=[1, 2, 3], std=[4, 5, 6]),
    transforms.to_chw,
    transforms.random_colour_adjust,
    lambda: pipeline(PIPELINE),
]


@pytest.mark.parametrize("make", STEPS)
def test_transforms_are_pure(make: Callable[[], Transform[TextLine]]) -> None:
    image = noise(10, 20)
    sample = TextLine(Path("x.png"), image, "word")
    before = image.copy()
    one, two = (make()(sample, np.random.default_rng(3)) for _ in range(2))
    assert one.image is not None
    assert two.image is not None
    np.testing.assert_array_equal(one.image, two.image)
    assert (one.label, one.text, one.path) == (two.label, sample.text, sample.path)
    np.testing.assert_array_equal(image, before)
    assert sample.label == ()


def test_decode_reads_colours_in_the_configured_order(tmp_path: Path) -> None:
    image = np.zeros((4, 6, 3), np.uint8)
    image[..., 0] = 200  # blue, for OpenCV
    path = tmp_path / "größe.png"
    path.write_bytes(cv2.imencode(".png", image)[1].tobytes())
    bgr = transforms.decode_image()(TextLine(path, text=""), GENERATOR).image
    rgb = transforms.decode_image(img_mode="RGB")(TextLine(path, text=""), GENERATOR).image
    assert bgr is not None
    assert rgb is not None
    assert bgr.shape == (4, 6, 3)
    assert bgr.dtype == np.uint8
    assert (bgr[0, 0].tolist(), rgb[0, 0].tolist()) == ([200, 0, 0], [0, 0, 200])


def test_a_gray_image_has_three_equal_channels(tmp_path: Path) -> None:
    path = tmp_path / "gray.png"
    path.write_bytes(cv2.imencode(".png", noise(4, 6)[..., 0])[1].tobytes())
    image = transforms.decode_image()(TextLine(path, text=""), GENERATOR).image
    assert image is not None
    assert (image == image[..., :1]).all()


@pytest.mark.parametrize("reduce", [2, 4, 8])
def test_a_reduced_page_is_close_to_the_averaged_one(tmp_path: Path, reduce: int) -> None:
    whole = cv2.GaussianBlur(noise(64, 99), (0, 0), 8)
    path = tmp_path / "photo.jpg"
    path.write_bytes(cv2.imencode(".jpg", whole, [cv2.IMWRITE_JPEG_QUALITY, 98])[1].tobytes())
    page = Page(path, polys=np.array([[[8, 8], [88, 8], [88, 56], [8, 56]]], np.float32))
    reduced = transforms.decode_image(reduce=reduce)(page, GENERATOR)
    assert reduced.image is not None
    height, width = reduced.image.shape[:2]
    assert (height, width) == (64 // reduce, -(-99 // reduce))
    averaged = cv2.resize(whole[:, : 99 // reduce * reduce], (99 // reduce, height), interpolation=cv2.INTER_AREA)
    assert np.abs(averaged.astype(int) - reduced.image[:, : 99 // reduce]).mean() < 2
    assert reduced.polys[0, 2].tolist() == [88 / reduce, 56 / reduce]
    np.testing.assert_array_equal(reduced.source_polys, page.polys)
    assert transforms.decode_image(reduce=reduce)(TextLine(path), GENERATOR).image is not None


def test_exif_orientation_is_applied_unless_disabled(tmp_path: Path) -> None:
    photo = cv2.imencode(".jpg", noise(8, 16))[1].tobytes()
    exif = b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0"
    path = tmp_path / "photo.jpg"
    path.write_bytes(photo[:2] + b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif + photo[2:])
    for ignore, shape in ((False, (16, 8, 3)), (True, (8, 16, 3))):
        image = transforms.decode_image(ignore_orientation=ignore)(TextLine(path), GENERATOR).image
        assert image is not None
        assert image.shape == shape


def test_to_float32_keeps_the_values(tmp_path: Path) -> None:
    write_image(tmp_path / "a.png", 9)
    image = transforms.decode_image(to_float32=True)(TextLine(tmp_path / "a.png"), GENERATOR).image
    assert image is not None
    assert image.dtype == np.float32
    assert (image == 9).all()


def test_a_loaded_image_is_not_read_again() -> None:
    image = noise(4, 6)
    assert transforms.decode_image()(TextLine(Path("nowhere.png"), image), GENERATOR).image is image


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not an image"),
        (b"plain text", "not an image"),
        (png_of(10, 10)[:40], "not an image"),
        (png_of(2**31 - 1, 1), "2147483647 x 1 pixels"),
        (png_of(65535, 65535), "65535 x 65535 pixels"),
    ],
    ids=["empty", "text", "truncated", "too wide", "more than 2^30 pixels"],
)
def test_a_damaged_image_is_a_bad_sample(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "bad.png"
    path.write_bytes(content)
    with pytest.raises(BadSampleError, match=reason):
        transforms.decode_image()(TextLine(path, text=""), GENERATOR)


def test_labels_become_class_numbers() -> None:
    def label(text: str, **options: Any) -> tuple[int, ...]:
        return line_transforms.encode_label(max_text_len=4, **options)(TextLine(Path(), text=text), GENERATOR).label

    assert label("0-aZ") == (0, 10, 35)
    assert label("a b", use_space_char=True) == (10, 36, 11)
    assert label("aB", lower=False) == (
        10,
        11,
    )  # without a dictionary, labels are always converted to lower case, as in MindOCR


@pytest.mark.parametrize(("options", "label"), [({}, (0,)), ({"lower": True}, (0, 1)), ({"lower": False}, (0,))])
def test_a_dictionary_determines_whether_capitals_are_kept(
    tmp_path: Path, options: dict[str, Any], label: tuple[int, ...]
) -> None:
    """MindOCR's default of `lower` is False: a dictionary of lower case letters drops capitals."""
    (tmp_path / "letters.txt").write_text("a\nb", encoding="utf-8")
    step = line_transforms.encode_label(max_text_len=4, character_dict_path=str(tmp_path / "letters.txt"), **options)
    assert step(TextLine(Path(), text="aB"), GENERATOR).label == label


def test_a_label_of_ctc_has_23_characters_as_in_mindocr() -> None:
    step = pipeline([{"RecCTCLabelEncode": None}])
    assert len(step(TextLine(Path(), text="a" * 23), GENERATOR).label) == 23
    with pytest.raises(BadSampleError, match="has 24 characters, max_text_len is 23"):
        step(TextLine(Path(), text="a" * 24), GENERATOR)


@pytest.mark.parametrize(
    ("text", "reason"),
    [("", "no character of ''"), ("---", "no character of '---'"), ("abcd", "'abcd' has 4 characters, max_text_len")],
)
def test_a_label_that_cannot_be_learnt_is_a_bad_sample(text: str, reason: str) -> None:
    with pytest.raises(BadSampleError, match=reason):
        line_transforms.encode_label(max_text_len=3)(TextLine(Path(), text=text), GENERATOR)


def test_only_the_characters_of_the_dictionary_count_for_the_length() -> None:
    assert len(line_transforms.encode_label(max_text_len=3)(TextLine(Path(), text="a-b-c"), GENERATOR).label) == 3


sizes = st.integers(1, 200)


@given(sizes, sizes)
@settings(max_examples=60, deadline=None)
def test_padding_keeps_the_ratio(height: int, width: int) -> None:
    """A white image is as wide as its ratio requires, at most the whole width; the rest of the row is black."""
    image = np.full((height, width, 3), 255, np.uint8)
    resized = applied(line_transforms.resize(image_shape=[32, 100], padding=True), image)
    assert resized.shape == (32, 100, 3)
    inner = int((resized[0, :, 0] == 255).sum())
    assert inner == min(100, max(1, -(-32 * width // height)))
    assert (resized[:, :inner] == 255).all()
    assert (resized[:, inner:] == 0).all()


@given(st.sampled_from([None, "bgr_to_rgb", "rgb_to_bgr"]), st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_normalize_follows_its_formula(swap: str | None, seed: int) -> None:
    image = noise(3, 5, seed)
    options: dict[str, Any] = {swap: True} if swap else {}
    result = applied(transforms.normalize(**options, mean=[10, 20, 30], std=[1, 2, 4]), image)
    source = image[..., ::-1] if swap else image
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, (source.astype(float) - [10, 20, 30]) / [1, 2, 4], rtol=1e-6)


@given(st.booleans(), st.sampled_from([np.uint8, np.float32]), st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_normalize_accepts_both_axis_orders_and_both_types(swap: bool, dtype: Any, seed: int) -> None:
    image = noise(3, 5, seed)
    options: dict[str, Any] = {"mean": [10, 20, 30], "std": [1, 2, 4], "rgb_to_bgr": swap}
    expected = applied(transforms.normalize(**options), image)
    np.testing.assert_array_equal(applied(transforms.normalize(**options), image.astype(dtype)), expected)
    channels_first = image.astype(dtype).transpose(2, 0, 1)
    result = applied(transforms.normalize(**options, is_hwc=False), channels_first)
    np.testing.assert_array_equal(result, expected.transpose(2, 0, 1))


def test_a_normalised_image_is_not_copied_to_move_its_channels() -> None:
    normal = applied(transforms.normalize(), noise(3, 5))
    assert np.shares_memory(applied(transforms.to_chw(), normal), normal)


def test_a_zero_std_is_refused() -> None:
    with pytest.raises(KitError, match=r"std \[1, 0, 1\] holds a zero"):
        transforms.normalize(std=[1, 0, 1])


GREY = np.array([0.299, 0.587, 0.114])
SAME: dict[str, Any] = {"brightness": 0.0, "contrast": 0.0, "saturation": 0.0}


@pytest.mark.parametrize("factor", [0.25, 0.5, 1.5])
def test_each_colour_factor_follows_its_formula(factor: float) -> None:
    image = noise(8, 9)
    grey = image @ GREY
    formulas = {
        "brightness": image * factor,
        "contrast": grey.mean() + factor * (image - grey.mean()),
        "saturation": grey[..., None] + factor * (image - grey[..., None]),
    }
    for name, expected in formulas.items():
        result = applied(transforms.random_colour_adjust(**{**SAME, name: [factor, factor]}), image)
        assert result.dtype == np.uint8
        assert np.abs(result - np.clip(expected, 0, 255)).max() < 1, name


def test_a_number_is_a_range_around_one() -> None:
    grey = np.full((1, 1, 3), 100, np.uint8)
    step = transforms.random_colour_adjust(brightness=0.2, saturation=0)
    drawn = (step(TextLine(Path(), grey), np.random.default_rng(n)) for n in range(200))
    seen = [int(transforms.image_of(sample)[0, 0, 0]) for sample in drawn]
    assert 80 <= min(seen) < 83
    assert 117 < max(seen) <= 120


def test_a_colour_range_the_wrong_way_round_is_refused() -> None:
    with pytest.raises(KitError, match=r"RandomColorAdjust: brightness is \[1\.2, 0\.8\]; accepted: \[lowest"):
        transforms.random_colour_adjust(brightness=[1.2, 0.8])


def test_a_pipeline_applies_its_steps_in_order(tmp_path: Path) -> None:
    write_image(tmp_path / "a.png", 254, height=8, width=8)
    sample = pipeline(PIPELINE)(TextLine(tmp_path / "a.png", text="Ab"), GENERATOR)
    assert sample.image is not None
    assert sample.image.shape == (3, 8, 16)
    assert sample.image.dtype == np.float32
    assert (sample.image[:, :, :8] == 1).all()
    assert (sample.image[:, :, 8:] == -1).all()
    assert sample.label == (10, 11)


def test_prediction_needs_no_label(tmp_path: Path) -> None:
    write_image(tmp_path / "a.png", 9)
    sample = pipeline(PIPELINE, without={"RecCTCLabelEncode"})(TextLine(tmp_path / "a.png", text=""), GENERATOR)
    assert sample.label == ()


@pytest.mark.parametrize(
    ("key", "shape", "padding", "part"),
    [
        ("train_32x100", [32, 100], False, np.s_[:]),
        ("train_32x320_pad", [32, 320], True, np.s_[:, ::2, :128]),
    ],
)
def test_images_match_the_reference(key: str, shape: list[int], padding: bool, part: Any) -> None:
    image = np.random.default_rng(21).integers(0, 256, (20, 57, 3)).astype(np.uint8)
    steps: list[dict[str, Any]] = [
        {"RecResizeImg": {"image_shape": shape, "padding": padding}},
        {"NormalizeImage": {"bgr_to_rgb": True, "mean": [127.0] * 3, "std": [127.0] * 3}},
        {"ToCHWImage": None},
    ]
    result = pipeline(steps)(TextLine(Path(), image), GENERATOR).image
    assert result is not None
    np.testing.assert_allclose(result[part], reference_arrays("input_transforms.npz")[key], atol=1e-5)


@pytest.mark.parametrize(
    ("key", "options", "part"),
    [
        ("eval_32x100", {"target_width": 100, "keep_ratio": False}, np.s_[:]),
        ("eval_32x320_pad", {"padding": True}, np.s_[:, ::2, :128]),
        ("eval_32x320_normpad", {"padding": True, "norm_before_pad": True}, np.s_[:, ::2, :128]),
    ],
)
def test_evaluation_images_match_the_reference(key: str, options: dict[str, Any], part: Any) -> None:
    image = np.random.default_rng(21).integers(0, 256, (20, 57, 3)).astype(np.uint8)
    steps: list[dict[str, Any]] = [{"RecResizeNormForInfer": options}, {"ToCHWImage": None}]
    result = pipeline(steps)(TextLine(Path(), image), GENERATOR).image
    assert result is not None
    np.testing.assert_allclose(result[part], reference_arrays("input_transforms.npz")[key], atol=1e-5)


@pytest.mark.parametrize(("width", "columns"), [(10, 24), (24, 24), (30, 30), (50, 48)])
def test_narrow_words_are_stretched_to_the_configured_width(width: int, columns: int) -> None:
    image = np.full((32, width, 3), 7, np.uint8)
    step = line_transforms.resize(image_shape=[32, 48], padding=True, min_width=24)
    line = step(TextLine(Path(), image), GENERATOR)
    assert line.columns == columns
    assert line.image is not None
    assert line.image.shape == (32, 48, 3)
    assert (line.image[:, :columns] == 7).all()
    assert (line.image[:, columns:] == 0).all()


@pytest.mark.parametrize(
    "step",
    [
        line_transforms.resize(image_shape=[32, 96], padding=True),
        line_transforms.resize_and_normalize(target_width=96, padding=True),
    ],
)
@pytest.mark.parametrize(("stretch", "columns"), [(0.5, 20), (1.0, 40), (1.5, 60), (4.0, 96)])
def test_the_width_of_a_line_follows_its_stretch(step: Any, stretch: float, columns: int) -> None:
    line = step(TextLine(Path(), np.full((16, 20, 3), 7, np.uint8), stretch=stretch), GENERATOR)
    assert line.columns == columns
    assert line.image.shape == (32, 96, 3)


def test_an_invalid_width_is_refused() -> None:
    with pytest.raises(KitError, match="min_width is 49; accepted: at most the 48 of image_shape"):
        line_transforms.resize(image_shape=[32, 48], padding=True, min_width=49)
    with pytest.raises(KitError, match="min_width needs padding: True"):
        line_transforms.resize(image_shape=[32, 48], padding=False, min_width=24)


@pytest.mark.parametrize(("direction", "corner"), [("counterclockwise", (1, 0)), ("clockwise", (0, 3))])
def test_a_vertical_line_is_rotated_to_horizontal(direction: str, corner: tuple[int, int]) -> None:
    step = line_transforms.rotate_if_vertical(direction=direction)
    standing = np.zeros((4, 2, 3), np.uint8)
    standing[0, 0] = 255  # the upper left corner
    lying = applied(step, standing)
    assert lying.shape == (2, 4, 3)
    assert lying[corner].all()
    for height in (2, 3):
        image = noise(height, 2)
        assert applied(step, image) is image


def test_light_characters_become_dark_with_the_same_contrast() -> None:
    dark = np.full((32, 90, 3), 200, np.uint8)
    dark[8:24, 10:30] = (60, 80, 70)
    step = line_transforms.dark_on_light(contrast=40)
    result = applied(step, dark)
    assert result.dtype == np.uint8
    assert result.shape == dark.shape
    assert (result[16, 20] < result[0, 0]).all()
    assert result.mean() == pytest.approx(127, abs=1)
    assert result.std() == pytest.approx(40, abs=1)
    for other in (255 - dark, dark // 2 + 20):  # characters and background exchanged; half the contrast
        assert np.abs(applied(step, other).astype(int) - result).max() <= 1


def test_an_image_without_contrast_stays_flat() -> None:
    faint = np.full((32, 40, 3), 90, np.uint8)
    assert (applied(line_transforms.dark_on_light(), faint) == 127).all()
    faint[0, 0] = 92
    assert np.ptp(applied(line_transforms.dark_on_light(), faint)) <= 25


def test_inverting_light_characters_must_precede_the_normalisation() -> None:
    with pytest.raises(KitError, match="DarkOnLight takes pixels of uint8, these are float32"):
        applied(line_transforms.dark_on_light(), np.zeros((32, 40, 3), np.float32))


def test_a_dictionary_and_inference_mode_together_imply_padding() -> None:
    image = noise(32, 40)
    for options, width in (
        ({}, 40),
        ({"padding": False}, 100),
        ({"padding": False, "infer_mode": True}, 100),
        ({"padding": False, "infer_mode": True, "character_dict_path": "x"}, 40),
    ):
        result = applied(line_transforms.resize(image_shape=[32, 100], **options), image)
        assert result.any(axis=(0, 2)).sum() == width


MEAN_127 = {"NormalizeImage": {"bgr_to_rgb": True, "mean": [127.0] * 3, "std": [127.0] * 3}}
IMAGENET = {"NormalizeImage": {"mean": "imagenet", "std": "imagenet", "is_hwc": True}}
PIPELINES: list[list[dict[str, Any]]] = [
    [{"DecodeImage": {"img_mode": "BGR"}}, IMAGENET, {"ToCHWImage": None}],
    [{"DecodeImage": {"img_mode": "RGB"}}, IMAGENET, {"ToCHWImage": None}],
    [{"DecodeImage": None}, MEAN_127, {"ToCHWImage": None}],
    [{"Decode": None}, {"Normalize": None}, {"HWC2CHW": None}],
    [{"DecodeImage": None}, {"ToCHWImage": None}],
]


@pytest.mark.parametrize("steps", PIPELINES)
def test_natural_images_are_restored_from_any_pipeline(tmp_path: Path, steps: list[dict[str, Any]]) -> None:
    image = np.random.default_rng(0).integers(0, 256, (12, 20, 3)).astype(np.uint8)
    image[..., 0] //= 4  # more red than blue
    cv2.imwrite(str(tmp_path / "a.png"), image)
    done = pipeline(steps)(Sample(tmp_path / "a.png"), np.random.default_rng(0))
    assert done.image is not None
    found = pixel_format((name, options or {}) for step in steps for name, options in step.items())
    np.testing.assert_array_equal(found.restored(done.image.astype(np.float32)), image)


def test_values_outside_the_pixel_range_are_clipped() -> None:
    made = PixelFormat("RGB", (100.0,) * 3, (10.0,) * 3)
    image = np.stack([np.full((2, 2), value, np.float32) for value in (-20.0, 0.0, 20.0)])
    assert made.restored(image)[0, 0].tolist() == [255, 100, 0]
