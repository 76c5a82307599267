"""Data sets of cropped words, IIIT 5K-word and CUTE80: valid, skipped and invalid files."""

from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data.published import words
from tests.ocr.data.published.forms import cute80_words, iiit5k


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("variable", ["traindata", "testdata"])
def test_words_of_iiit5k_are_read(variable: str, compressed: bool, tmp_path: Path) -> None:
    rows = ("train/1_1.png", "YOU"), ("train/1_2.png", "CAN")
    assert list(words.iiit5k(*iiit5k(tmp_path, *rows, variable=variable, compressed=compressed))) == list(rows)


def test_invalid_words_are_named(tmp_path: Path) -> None:
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


def test_a_file_in_another_format_is_refused(tmp_path: Path) -> None:
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


def test_the_words_of_cute80_are_read(tmp_path: Path) -> None:
    made = cute80_words(tmp_path, "timage/001.jpg RONALDO 1 RONALDO", "timage/002.jpg 7", "timage/001.jpg A 2 A B")
    first, second = "timage/001.jpg", "timage/002.jpg"
    assert list(words.cute80(*made)) == [(first, "RONALDO"), (second, "7"), (first, "A")]


def test_invalid_rows_of_cute80_are_named(tmp_path: Path) -> None:
    rows = "timage/001.jpg", "timage/001.jpg A 2 A", "timage/001.jpg A B", "../001.jpg A", "timage/9.jpg A 1 A"
    labels, images = cute80_words(tmp_path, *rows)
    assert list(words.cute80(labels, images)) == [
        *(f"{labels}:{n}: expected timage/001.jpg TEXT 1 TEXT, found {rows[n - 1]!r}" for n in (1, 2, 3)),
        f"{labels}:4: the image '../001.jpg' is not in {images}",
        f"{labels}:5: {images} has no image timage/9.jpg",
    ]
