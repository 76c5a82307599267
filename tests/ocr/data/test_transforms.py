"""The transforms: pure functions, and what each does to an image."""

import struct
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hccl_kit.errors import KitError
from hccl_kit.ocr.data import transforms
from hccl_kit.ocr.data.samples import BadSampleError, Sample
from hccl_kit.ocr.data.transforms import Transform
from tests.ocr.data.images import PIPELINE, write_image
from tests.ocr.programs import ROOT

REFERENCE = ROOT.parent / "shared" / "fixtures" / "input_transforms.npz"


def noise(height: int, width: int, seed: int = 0) -> NDArray[np.uint8]:
    drawn: NDArray[np.uint8] = np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)
    return drawn


def applied(transform: Transform, image: NDArray[Any]) -> NDArray[Any]:
    result = transform(Sample(Path("x.png"), "x", image)).image
    assert result is not None
    return result


STEPS: list[Callable[[], Transform]] = [
    lambda: transforms.encode_label(max_text_len=8),
    lambda: transforms.resize(image_shape=[32, 100]),
    lambda: transforms.resize(image_shape=[32, 100], padding=True),
    transforms.normalize,
    lambda: transforms.normalize(bgr_to_rgb=True, mean=[1, 2, 3], std=[4, 5, 6]),
    transforms.to_chw,
    lambda: transforms.pipeline(PIPELINE),
]


@pytest.mark.parametrize("make", STEPS)
def test_transforms_are_pure(make: Callable[[], Transform]) -> None:
    image = noise(10, 20)
    sample = Sample(Path("x.png"), "word", image)
    before = image.copy()
    one, two = make()(sample), make()(sample)
    assert one.image is not None
    assert two.image is not None
    np.testing.assert_array_equal(one.image, two.image)
    assert (one.label, one.text, one.path) == (two.label, sample.text, sample.path)
    np.testing.assert_array_equal(image, before)
    assert sample.label == ()


def test_decode_reads_colours_in_the_asked_order(tmp_path: Path) -> None:
    image = np.zeros((4, 6, 3), np.uint8)
    image[..., 0] = 200  # blue, for OpenCV
    path = tmp_path / "größe.png"
    path.write_bytes(cv2.imencode(".png", image)[1].tobytes())
    bgr = transforms.decode_image()(Sample(path, "")).image
    rgb = transforms.decode_image(img_mode="RGB")(Sample(path, "")).image
    assert bgr is not None
    assert rgb is not None
    assert bgr.shape == (4, 6, 3)
    assert bgr.dtype == np.uint8
    assert (bgr[0, 0].tolist(), rgb[0, 0].tolist()) == ([200, 0, 0], [0, 0, 200])


def test_a_gray_image_has_three_equal_channels(tmp_path: Path) -> None:
    path = tmp_path / "gray.png"
    path.write_bytes(cv2.imencode(".png", noise(4, 6)[..., 0])[1].tobytes())
    image = transforms.decode_image()(Sample(path, "")).image
    assert image is not None
    assert (image == image[..., :1]).all()


def test_an_image_that_is_there_is_not_read_again() -> None:
    image = noise(4, 6)
    assert transforms.decode_image()(Sample(Path("nowhere.png"), "", image)).image is image


def png_of(width: int, height: int) -> bytes:
    """A PNG that claims a size and holds next to nothing."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = (chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(bytes(99))), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not an image"),
        (b"plain text", "not an image"),
        (png_of(10, 10)[:40], "not an image"),
        (png_of(2**31 - 1, 1), "not an image"),
        (png_of(65535, 65535), "PIXELS"),
    ],
    ids=["empty", "text", "truncated", "too wide", "more than 2^30 pixels"],
)
def test_a_damaged_image_is_a_bad_sample(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "bad.png"
    path.write_bytes(content)
    with pytest.raises(BadSampleError, match=reason):
        transforms.decode_image()(Sample(path, ""))


@pytest.mark.parametrize(
    ("name", "reason"),
    [("no.png", "No such file"), (".", "Is a directory"), ("a\0b.png", "null byte"), ("x" * 300, "too long")],
)
def test_a_missing_image_is_a_bad_sample(tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(BadSampleError, match=reason):
        transforms.decode_image()(Sample(tmp_path / name, ""))


def test_labels_become_class_numbers() -> None:
    assert transforms.encode_label()(Sample(Path(), "0-aZ")).label == (0, 10, 35)
    assert transforms.encode_label(use_space_char=True)(Sample(Path(), "a b")).label == (10, 36, 11)
    assert transforms.encode_label(lower=False)(Sample(Path(), "aB")).label == (10,)


@pytest.mark.parametrize(
    ("text", "reason"),
    [("", "no character of ''"), ("---", "no character of '---'"), ("abcd", "'abcd' has 4 characters, max_text_len")],
)
def test_a_label_that_cannot_be_learnt_is_a_bad_sample(text: str, reason: str) -> None:
    with pytest.raises(BadSampleError, match=reason):
        transforms.encode_label(max_text_len=3)(Sample(Path(), text))


def test_only_the_characters_of_the_dictionary_count_for_the_length() -> None:
    assert len(transforms.encode_label(max_text_len=3)(Sample(Path(), "a-b-c")).label) == 3


sizes = st.integers(1, 200)


@given(sizes, sizes)
@settings(max_examples=60, deadline=None)
def test_padding_keeps_the_ratio(height: int, width: int) -> None:
    """White becomes as wide as the ratio says, at most the whole width; the rest of the row is black."""
    image = np.full((height, width, 3), 255, np.uint8)
    resized = applied(transforms.resize(image_shape=[32, 100], padding=True), image)
    assert resized.shape == (32, 100, 3)
    inner = int((resized[0, :, 0] == 255).sum())
    assert inner == min(100, max(1, -(-32 * width // height)))
    assert (resized[:, :inner] == 255).all()
    assert (resized[:, inner:] == 0).all()


@given(sizes, sizes)
@settings(max_examples=30, deadline=None)
def test_without_padding_the_image_fills_the_shape(height: int, width: int) -> None:
    image = np.full((height, width, 3), 255, np.uint8)
    resized = applied(transforms.resize(image_shape=[16, 24]), image)
    assert resized.shape == (16, 24, 3)
    assert (resized == 255).all()


@given(st.booleans(), st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_normalize_is_its_formula(swap: bool, seed: int) -> None:
    image = noise(3, 5, seed)
    result = applied(transforms.normalize(bgr_to_rgb=swap, mean=[10, 20, 30], std=[1, 2, 4]), image)
    source = image[..., ::-1] if swap else image
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, (source.astype(float) - [10, 20, 30]) / [1, 2, 4], rtol=1e-6)


def test_normalize_is_about_127_unless_told() -> None:
    assert applied(transforms.normalize(), np.array([[[0, 127, 254]]], np.uint8)).tolist() == [[[-1, 0, 1]]]


def test_a_zero_std_is_refused() -> None:
    with pytest.raises(KitError, match=r"std \[1, 0, 1\] holds a zero"):
        transforms.normalize(std=[1, 0, 1])


def test_to_chw_moves_the_channels_first() -> None:
    image = noise(3, 5)
    result = applied(transforms.to_chw(), image)
    assert result.shape == (3, 3, 5)
    assert result.flags.c_contiguous
    assert (result[2] == image[..., 2]).all()


def test_a_pipeline_applies_its_steps_in_order(tmp_path: Path) -> None:
    write_image(tmp_path / "a.png", 254, height=8, width=8)
    sample = transforms.pipeline(PIPELINE)(Sample(tmp_path / "a.png", "Ab"))
    assert sample.image is not None
    assert sample.image.shape == (3, 8, 16)
    assert sample.image.dtype == np.float32
    assert (sample.image[:, :, :8] == 1).all()
    assert (sample.image[:, :, 8:] == -1).all()
    assert sample.label == (10, 11)


def test_prediction_needs_no_label(tmp_path: Path) -> None:
    write_image(tmp_path / "a.png", 9)
    sample = transforms.pipeline(PIPELINE, labels=False)(Sample(tmp_path / "a.png", ""))
    assert sample.label == ()


def test_every_transform_is_named_as_the_schema_names_it() -> None:
    assert transforms.LABEL_TRANSFORM in transforms.TRANSFORMS
    text = (ROOT / "schemas" / "train_config.schema.json").read_text(encoding="utf-8")
    assert all(f'"{name}": {{' in text for name in transforms.TRANSFORMS)


@pytest.mark.skipif(not REFERENCE.exists(), reason="the reference values are not part of the project")
@pytest.mark.parametrize(
    ("key", "shape", "padding", "part"),
    [
        ("train_32x100", [32, 100], False, np.s_[:]),
        ("train_32x320_pad", [32, 320], True, np.s_[:, ::2, :128]),
    ],
)
def test_images_are_those_of_the_reference(key: str, shape: list[int], padding: bool, part: Any) -> None:
    image = np.random.default_rng(21).integers(0, 256, (20, 57, 3)).astype(np.uint8)
    steps: list[dict[str, Any]] = [
        {"RecResizeImg": {"image_shape": shape, "padding": padding}},
        {"NormalizeImage": {"bgr_to_rgb": True, "mean": [127.0] * 3, "std": [127.0] * 3}},
        {"ToCHWImage": None},
    ]
    result = transforms.pipeline(steps)(replace(Sample(Path(), ""), image=image)).image
    assert result is not None
    with np.load(REFERENCE) as reference:
        np.testing.assert_allclose(result[part], reference[key], atol=1e-5)
