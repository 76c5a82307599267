"""IIIT 5K-word: its words, those left out, and files of something else."""

import struct
import zlib
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.io import savemat

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data.published import mat, words
from tests.ocr.data.published.forms import iiit5k


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("variable", ["traindata", "testdata"])
def test_its_words_are_read(variable: str, compressed: bool, tmp_path: Path) -> None:
    rows = ("train/1_1.png", "YOU"), ("train/1_2.png", "CAN")
    assert list(words.iiit5k(*iiit5k(tmp_path, *rows, variable=variable, compressed=compressed))) == list(rows)


def test_bad_words_are_named(tmp_path: Path) -> None:
    rows = ("train/1_1.png", "YOU"), ("train/9.png", "A"), ("../x.png", "A"), ("train/1_2.png", 5.0), (np.eye(2), "A")
    labels, images = iiit5k(tmp_path, *rows)
    good, *bad = words.iiit5k(labels, images)
    assert good == ("train/1_1.png", "YOU")
    assert bad == [
        f"{labels}: word 2: {images} has no image train/9.png",
        f"{labels}: word 3: the image '../x.png' is not in {images}",
        f"{labels}: word 4: no text: 'None'",
        f"{labels}: word 5: no name of an image: 'None'",
    ]


def test_what_is_no_such_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.mat"
    savemat(path, {"other": 1})
    with pytest.raises(KitError, match="has no structure array traindata or testdata"):
        list(words.iiit5k(path, tmp_path))
    savemat(path, {"traindata": {"ImgName": "a"}})
    with pytest.raises(KitError, match="no field GroundTruth"):
        list(words.iiit5k(path, tmp_path))
    for content in (b"", b"nothing", b"x" * 500):
        path.write_bytes(content)
        with pytest.raises(KitError, match="damaged or not a MATLAB file"):
            list(words.iiit5k(path, tmp_path))


@pytest.mark.parametrize("compressed", [True, False])
def test_a_file_cut_anywhere_is_refused(compressed: bool, tmp_path: Path) -> None:
    labels, images = iiit5k(tmp_path, ("train/1_1.png", "YOU"), compressed=compressed)
    whole = labels.read_bytes()
    for end in range(len(whole)):
        labels.write_bytes(whole[:end])
        with pytest.raises(KitError):
            list(words.iiit5k(labels, images))


@given(st.integers(124, 900), st.binary(min_size=1, max_size=8))
def test_changed_bytes_are_refused_or_read(tmp_path_factory: pytest.TempPathFactory, place: int, change: bytes) -> None:
    root = tmp_path_factory.getbasetemp() / "mat"
    root.mkdir(exist_ok=True)
    labels, images = iiit5k(root, ("train/1_1.png", "YOU"), compressed=False)
    whole = labels.read_bytes()
    labels.write_bytes((whole[:place] + change + whole[place + len(change) :])[: len(whole)])
    with suppress(KitError):
        list(words.iiit5k(labels, images))


def test_a_file_that_expands_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mat, "MAX_EXPANDED_BYTES", 1 << 21)
    labels, images = iiit5k(tmp_path, ("train/1_1.png", "YOU"))
    bomb = zlib.compress(bytes(1 << 24))
    labels.write_bytes(labels.read_bytes()[:128] + struct.pack("<II", 15, len(bomb)) + bomb)
    with pytest.raises(KitError, match="a variable of more than 2097152 bytes"):
        list(words.iiit5k(labels, images))


def test_cells_in_cells_do_not_end_the_process(tmp_path: Path) -> None:
    """scipy reads them by recursion in C, which 200,000 of them overflow."""
    head = struct.pack("<6I2i2I", 6, 8, 1, 0, 5, 8, 1, 1, 1, 0)
    depth = 200_000
    cells = b"".join(struct.pack("<II", 14, 48 * (depth - n) - 8) + head for n in range(depth))
    names = b"ImgName".ljust(16, b"\0") + b"GroundTruth".ljust(16, b"\0")
    start = struct.pack("<6I2i2I", 6, 8, 2, 0, 5, 8, 1, 1, 1, 9) + b"traindata".ljust(16, b"\0")
    body = start + struct.pack("<HHi2I", 5, 4, 16, 1, 32) + names + cells + cells
    path = tmp_path / "traindata.mat"
    path.write_bytes(b"MATLAB".ljust(124) + b"\0\1IM" + struct.pack("<II", 14, len(body)) + body)
    assert list(words.iiit5k(path, tmp_path)) == [f"{path}: word 1: no name of an image: 'None'"]
