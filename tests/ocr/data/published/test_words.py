"""Words that are cut already: those of IIIT 5K-word and CUTE80, those left out, and files of something else."""

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
from hccl_kit.ocr.data import mat_file
from hccl_kit.ocr.data.published import words
from tests.ocr.data.published.forms import cute80_words, iiit5k
from tests.ocr.data.test_mat_file import DEPTH, STRUCT, array, element, nested, write


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
        f"{labels}: word 4: text is missing or blank: 'None'",
        f"{labels}: word 5: not the name of an image: 'None'",
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
    monkeypatch.setattr(mat_file, "MAX_EXPANDED_BYTES", 1 << 21)
    labels, images = iiit5k(tmp_path, ("train/1_1.png", "YOU"))
    bomb = zlib.compress(bytes(1 << 24))
    labels.write_bytes(labels.read_bytes()[:128] + struct.pack("<II", 15, len(bomb)) + bomb)
    with pytest.raises(KitError, match="a variable of more than 2097152 bytes"):
        list(words.iiit5k(labels, images))


def test_cells_in_cells_do_not_end_the_process(tmp_path: Path) -> None:
    """scipy reads them by recursion in C, which this depth overflows."""
    names = struct.pack("<HHi", 5, 4, 16) + element(1, b"ImgName".ljust(16, b"\0") + b"GroundTruth".ljust(16, b"\0"))
    cell = nested(DEPTH)
    path = write(tmp_path / "traindata.mat", array(STRUCT, (1, 1), names, cell, cell, name=b"traindata"))
    assert list(words.iiit5k(path, tmp_path)) == [f"{path}: word 1: not the name of an image: 'None'"]


def test_the_words_of_cute80_are_read(tmp_path: Path) -> None:
    made = cute80_words(tmp_path, "timage/001.jpg RONALDO 1 RONALDO", "timage/002.jpg 7", "timage/001.jpg A 2 A B")
    first, second = "timage/001.jpg", "timage/002.jpg"
    assert list(words.cute80(*made)) == [(first, "RONALDO"), (second, "7"), (first, "A")]


def test_bad_rows_of_cute80_are_named(tmp_path: Path) -> None:
    rows = "timage/001.jpg", "timage/001.jpg A 2 A", "timage/001.jpg A B", "../001.jpg A", "timage/9.jpg A 1 A"
    labels, images = cute80_words(tmp_path, *rows)
    assert list(words.cute80(labels, images)) == [
        *(f"{labels}:{n}: expected timage/001.jpg TEXT 1 TEXT, found {rows[n - 1]!r}" for n in (1, 2, 3)),
        f"{labels}:4: the image '../001.jpg' is not in {images}",
        f"{labels}:5: {images} has no image timage/9.jpg",
    ]
