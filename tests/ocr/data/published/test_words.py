"""IIIT 5K-word: its words, those left out, and files that are none."""

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data.published import words
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
    with pytest.raises(KitError, match="traindata has no fields ImgName and GroundTruth"):
        list(words.iiit5k(path, tmp_path))
    for content in (b"", b"nothing", b"x" * 500):
        path.write_bytes(content)
        with pytest.raises(KitError, match="damaged or not a MATLAB file"):
            list(words.iiit5k(path, tmp_path))


def test_a_file_cut_anywhere_is_refused_or_read(tmp_path: Path) -> None:
    labels, images = iiit5k(tmp_path, ("train/1_1.png", "YOU"))
    whole = labels.read_bytes()
    for end in range(0, len(whole), 7):
        labels.write_bytes(whole[:end])
        with pytest.raises(KitError):
            list(words.iiit5k(labels, images))


def test_a_file_that_expands_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "MAX_EXPANDED_BYTES", 1 << 21)
    labels, images = iiit5k(tmp_path, ("train/1_1.png", "YOU"))
    bomb = zlib.compress(bytes(1 << 24))
    labels.write_bytes(labels.read_bytes()[:128] + struct.pack("<II", 15, len(bomb)) + bomb)
    with pytest.raises(KitError, match="expands to more than 2097152 bytes"):
        list(words.iiit5k(labels, images))
