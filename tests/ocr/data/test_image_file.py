"""Image sizes are checked before decoding, and no kind of file can block the reader."""

import io
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from hccl_kit.ocr.data import image_file, transforms
from hccl_kit.ocr.data.image_file import AT_ONCE, FORMATS, MAX_PIXELS, open_image, read_image, size_of
from hccl_kit.ocr.data.lines.line_sources import LmdbLines
from hccl_kit.ocr.data.pages.pages import Page
from hccl_kit.ocr.data.pipeline import pipeline
from hccl_kit.ocr.data.samples import BadSampleError, Sample, TextLine
from tests.ocr.data.images import png_of, write_image
from tests.ocr.data.lines.test_line_sources import base
from tests.places import ROOT

GENERATOR = np.random.default_rng(0)


def encoded(kind: str, width: int = 30, height: int = 20) -> bytes:
    with io.BytesIO() as file:
        Image.new("RGB", (width, height)).save(file, kind)
        return file.getvalue()


@pytest.mark.parametrize("kind", FORMATS)
def test_the_size_of_every_format_is_known_before_it_is_decoded(kind: str, tmp_path: Path) -> None:
    (tmp_path / "image").write_bytes(encoded(kind))
    sample = TextLine(tmp_path / "image")
    assert size_of(io.BytesIO(encoded(kind))) == (30, 20)
    assert read_image(sample, 600) == encoded(kind)
    image = transforms.decode_image(max_pixels=600)(sample, GENERATOR).image
    assert image is not None
    assert image.shape == (20, 30, 3)
    with pytest.raises(
        BadSampleError, match="an image of 30 x 20 pixels; accepted: up to 599 in total, see max_pixels"
    ):
        transforms.decode_image(max_pixels=599)(sample, GENERATOR)


def test_the_header_of_a_large_file_is_checked_before_the_rest_is_read(tmp_path: Path) -> None:
    image = np.random.default_rng(0).integers(0, 256, (600, 700, 3), np.uint8)
    path = tmp_path / "noise.png"
    Image.fromarray(image).save(path)
    assert path.stat().st_size > AT_ONCE
    assert read_image(Sample(path), 420_000) == path.read_bytes()
    with pytest.raises(BadSampleError, match="700 x 600 pixels; accepted: up to 419999"):
        read_image(Sample(path), 419_999)


def test_only_the_header_of_a_large_file_of_a_huge_image_is_read(tmp_path: Path) -> None:
    (tmp_path / "bomb.png").write_bytes(png_of(30_000, 30_000))
    os.truncate(tmp_path / "bomb.png", 64 * AT_ONCE)
    tracemalloc.start()
    try:
        with pytest.raises(BadSampleError, match="an image of 30000 x 30000 pixels"):
            read_image(Sample(tmp_path / "bomb.png"), MAX_PIXELS)
        assert tracemalloc.get_traced_memory()[1] < 16 * AT_ONCE
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", [TextLine, Page])
def test_a_small_file_of_a_huge_image_is_refused(kind: type[Sample], tmp_path: Path) -> None:
    (tmp_path / "bomb.png").write_bytes(png_of(30_000, 30_000))
    with pytest.raises(BadSampleError, match=f"30000 x 30000 pixels; accepted: up to {MAX_PIXELS} in total"):
        transforms.decode_image()(kind(tmp_path / "bomb.png"), GENERATOR)


def test_the_size_of_an_lmdb_row_is_limited() -> None:
    with pytest.raises(BadSampleError, match="30000 x 30000 pixels"):
        transforms.decode_image()(TextLine(Path("row"), data=lambda: png_of(30_000, 30_000)), GENERATOR)


def test_a_sparse_file_is_refused_without_reading_it(tmp_path: Path) -> None:
    with (tmp_path / "sparse.png").open("wb") as file:
        file.write(encoded("PNG"))
        file.truncate(12 << 30)
    with pytest.raises(BadSampleError, match=f"a file of {12 << 30} bytes; accepted: up to "):
        read_image(TextLine(tmp_path / "sparse.png"), MAX_PIXELS)


READ = """
import sys, pathlib
from hccl_kit.ocr.data import image_file, samples
sample = samples.Sample(pathlib.Path(sys.argv[1]))
print(image_file.aspects([sample]).tolist())
try:
    image_file.read_image(sample, 100)
except samples.BadSampleError as error:
    print(error)
"""


def test_a_pipe_without_a_writer_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    command = [sys.executable, "-c", READ, str(tmp_path / "pipe.png")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout == "[0.0]\nit is not a regular file\n"


@pytest.mark.parametrize(
    ("name", "reason"),
    [("missing", "No such file"), (".", "Is a directory"), ("a\0b", "embedded null"), ("x" * 300, "name too long")],
)
def test_a_file_that_cannot_be_opened_is_reported_with_the_reason(tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(BadSampleError, match=reason), open_image(Sample(tmp_path / name)):
        pass


def test_a_device_is_a_bad_sample() -> None:
    with pytest.raises(BadSampleError, match="not a regular file"):
        read_image(Sample(Path("/dev/zero")), 100)


WHOLE = {kind: encoded(kind) for kind in FORMATS}


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(FORMATS),
    st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), max_size=8),
    st.integers(0, 400),
)
def test_a_damaged_header_has_a_size_or_is_not_an_image(kind: str, changes: list[tuple[int, int]], cut: int) -> None:
    data = bytearray(WHOLE[kind])
    for place, value in changes:
        data[place % len(data)] = value
    try:
        width, height = size_of(io.BytesIO(bytes(data[: len(data) - cut % 50])))
    except BadSampleError:
        return
    assert width >= 0 <= height


def test_shapes_are_read_of_images_of_every_size(tmp_path: Path) -> None:
    (tmp_path / "large.png").write_bytes(png_of(60_000, 30_000))
    write_image(tmp_path / "small.png", 0, height=10, width=30)
    samples = [Sample(tmp_path / name) for name in ("large.png", "small.png")]
    assert image_file.aspects(samples).tolist() == [2.0, 3.0]


def test_an_image_that_opencv_cannot_rotate_is_a_bad_sample(tmp_path: Path) -> None:
    """It is small enough to be decoded, and would have ended the job."""
    write_image(tmp_path / "wide.png", 0, height=10, width=40_000)
    page = Page(tmp_path / "wide.png", polys=np.zeros((1, 4, 2), np.float32), texts=("a",), ignored=np.zeros(1, bool))
    steps = pipeline([{"DecodeImage": None}, {"RandomRotate": {"degrees": [10, 20], "expand_canvas": False}}])
    with pytest.raises(BadSampleError, match="SHRT_MAX"):
        steps(page, GENERATOR)


@pytest.mark.parametrize("kind", ["png", "jpeg", "bmp", "webp"])
def test_the_aspect_ratio_of_every_format(tmp_path: Path, kind: str) -> None:
    paths = [tmp_path / f"{width}.{kind}" for width in (50, 20)]
    for path in paths:
        path.write_bytes(encoded(kind, int(path.stem), 10))
    assert image_file.aspects([Sample(path) for path in paths]).tolist() == [5.0, 2.0]


def test_an_unreadable_file_has_no_shape_and_is_not_reported(tmp_path: Path) -> None:
    whole = encoded("jpeg", 400, 300)
    contents = {"empty": b"", "text": b"not an image", "cut": whole[:12], "head.jpg": whole[:-200]}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    rows = [Sample(tmp_path / name) for name in (*contents, "absent")]
    found = image_file.aspects([*rows, Sample(tmp_path)])
    np.testing.assert_array_equal(found, np.array([0, 0, 0, 4 / 3, 0, 0], np.float32))


@pytest.mark.parametrize(("width", "found"), [(16_000, 2.0), (64_000, 8.0)])
def test_an_image_that_is_too_large_to_be_decoded_has_a_shape(tmp_path: Path, width: int, found: float) -> None:
    small = encoded("bmp", 1, 1)
    size = width.to_bytes(4, "little") + (8_000).to_bytes(4, "little")
    (tmp_path / "large.bmp").write_bytes(small[:18] + size + small[26:])
    assert image_file.aspects([Sample(tmp_path / "large.bmp")]).tolist() == [found]


def test_reads_shapes_of_lmdb_rows(tmp_path: Path) -> None:
    write_image(tmp_path / "image.png", 0, height=10, width=30)
    rows = {"num-samples": b"2", "image-000000001": (tmp_path / "image.png").read_bytes()}
    assert image_file.aspects(LmdbLines(base(tmp_path / "base", rows))).tolist() == [3.0, 0.0]


def test_the_order_of_the_samples_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_file, "CHUNK", 3)
    for width in range(1, 21):
        write_image(tmp_path / f"{width}.png", 0, width=width)
    samples = [Sample(tmp_path / f"{width}.png") for width in range(1, 21)]
    np.testing.assert_allclose(image_file.aspects(samples), np.arange(1, 21) / 10, rtol=1e-6)
    assert image_file.aspects([]).shape == (0,)
