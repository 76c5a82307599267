"""Image shapes are read from the first bytes without decoding; unreadable images have none."""

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from hccl_kit.ocr.data.lines import image_shapes
from hccl_kit.ocr.data.lines.lmdb_lines import LmdbLines
from hccl_kit.ocr.data.samples import Sample
from tests.ocr.data.images import write_image
from tests.ocr.data.lines.test_lmdb_lines import base


def encoded(width: int, height: int, kind: str) -> bytes:
    with io.BytesIO() as file:
        Image.new("1" if kind == "png" else "RGB", (width, height)).save(file, kind)
        return file.getvalue()


@pytest.mark.parametrize("kind", ["png", "jpeg", "bmp", "webp"])
def test_the_aspect_ratio_of_every_format(tmp_path: Path, kind: str) -> None:
    paths = [tmp_path / f"{width}.{kind}" for width in (50, 20)]
    for path in paths:
        path.write_bytes(encoded(int(path.stem), 10, kind))
    assert image_shapes.aspects([Sample(path) for path in paths]).tolist() == [5.0, 2.0]


def test_an_unreadable_file_has_no_shape_and_is_not_reported(tmp_path: Path) -> None:
    whole = encoded(400, 300, "jpeg")
    contents = {"empty": b"", "text": b"not an image", "cut": whole[:12], "head.jpg": whole[:-200]}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    rows = [Sample(tmp_path / name) for name in (*contents, "absent")]
    found = image_shapes.aspects([*rows, Sample(tmp_path)])
    np.testing.assert_array_equal(found, np.array([0, 0, 0, 4 / 3, 0, 0], np.float32))


@pytest.mark.parametrize(("width", "found"), [(16_000, 2.0), (64_000, 8.0)])
def test_an_image_that_is_too_large_to_be_decoded_has_a_shape(tmp_path: Path, width: int, found: float) -> None:
    small = encoded(1, 1, "bmp")
    size = width.to_bytes(4, "little") + (8_000).to_bytes(4, "little")
    (tmp_path / "large.bmp").write_bytes(small[:18] + size + small[26:])
    assert image_shapes.aspects([Sample(tmp_path / "large.bmp")]).tolist() == [found]


def test_reads_shapes_of_lmdb_rows(tmp_path: Path) -> None:
    write_image(tmp_path / "image.png", 0, height=10, width=30)
    rows = {"num-samples": b"2", "image-000000001": (tmp_path / "image.png").read_bytes()}
    assert image_shapes.aspects(LmdbLines(base(tmp_path / "base", rows))).tolist() == [3.0, 0.0]


def test_the_order_of_the_samples_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_shapes, "CHUNK", 3)
    for width in range(1, 21):
        write_image(tmp_path / f"{width}.png", 0, width=width)
    samples = [Sample(tmp_path / f"{width}.png") for width in range(1, 21)]
    np.testing.assert_allclose(image_shapes.aspects(samples), np.arange(1, 21) / 10, rtol=1e-6)
    assert image_shapes.aspects([]).shape == (0,)
