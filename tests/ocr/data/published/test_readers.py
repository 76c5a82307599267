"""Readers of published data sets: a few files in the form of each, and bad rows, which are named."""

import json
import math
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data import published
from hccl_kit.ocr.data.pages.pages import Page
from hccl_kit.ocr.data.published import page_files, plates, set_files, word_lists
from hccl_kit.ocr.data.published.catalogue import DATA_SETS
from hccl_kit.ocr.data.samples import BadSampleError

SQUARE = "10,10,50,10,50,20,10,20"
PLATE = "025-95_113-154&383_386&473-386&473_177&454_154&383_363&402-0_0_22_27_27_33_16-37-15"
CORNERS = [[10.0, 10.0], [50.0, 10.0], [50.0, 20.0], [10.0, 20.0]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Images whose content nobody looks at, and an empty folder for labels."""
    for name in ("img_1.jpg", "PAL1.jpg", "IMG_1.JPG", "1001.jpg", "0001.jpg", "form.png", "gt_0.jpg", f"{PLATE}.jpg"):
        (tmp_path / "images" / "inner").mkdir(parents=True, exist_ok=True)
        (tmp_path / "images" / name).touch()
    (tmp_path / "images" / "inner" / "a.jpg").touch()
    (tmp_path / "labels").mkdir()
    return tmp_path


def rows(name: str, folder: Path, labels: str = "labels") -> tuple[list[Page], list[str]]:
    """The pages that are labelled, and the reasons that name a label file or a row."""
    read = DATA_SETS[name].pages
    assert read is not None
    found = list(read(folder / labels, folder / "images"))
    bad = [row for row in found if isinstance(row, str) and f"{folder / 'labels'} has no file" not in row]
    return [row for row in found if isinstance(row, Page)], bad


@pytest.mark.parametrize(
    ("name", "file", "text", "image", "texts"),
    [
        ("mlt2017", "gt_img_1.txt", f"{SQUARE},Latin,a, b\n{SQUARE},None,###\n", "img_1.jpg", ("a, b", "###")),
        ("rctw17", "img_1.txt", f'\ufeff{SQUARE},0,"中,文"\r\n{SQUARE},1,"x"\r\n', "img_1.jpg", ("中,文", "###")),
        ("td500", "IMG_1.gt", "0 0 10 10 40 10 0\n1 1 10 10 40 10 0.0\n", "IMG_1.JPG", ("", "###")),
        (
            "totaltext",
            "poly_gt_img_1.txt",
            "x: [[10 50 50\n 10]], y: [[10 10 20 20]], ornt: [u'h'], transcriptions: [u'it's']\n"
            "x: [[10 50 50 10]], y: [[10 10 20 20]], ornt: [u'#'], transcriptions: [\"#\"]",
            "img_1.jpg",
            ("it's", "#"),
        ),
        ("ctw1500", "0001001.txt", f"{SQUARE},####a,b\n\n", "1001.jpg", ("a,b",)),
        (
            "ctw1500",
            "0001.xml",
            f'<Annotations><image file="0001.jpg"><box height="1"><label>a &amp; b</label><segs>{SQUARE}</segs></box>'
            "</image></Annotations>",
            "0001.jpg",
            ("a & b",),
        ),
        (
            "funsd",
            "form.json",
            json.dumps({"form": [{"text": "a b", "words": [{"box": [10, 10, 50, 20], "text": "a"}], "id": 0}]}),
            "form.png",
            ("a",),
        ),
    ],
)
def test_a_label_file_of_a_page(
    folder: Path, name: str, file: str, text: str, image: str, texts: tuple[str, ...]
) -> None:
    (folder / "labels" / file).write_text(text, encoding="utf-8")
    [page], bad = rows(name, folder)
    assert (page.path, page.texts, bad) == (folder / "images" / image, texts, [])
    for poly in page.polys:
        np.testing.assert_array_equal(poly, CORNERS)


def test_casia10k_is_in_gbk(folder: Path) -> None:
    (folder / "labels" / "PAL1.txt").write_bytes(f"{SQUARE},中文,字\n".encode("gbk"))
    [page], _ = rows("casia10k", folder)
    assert page.texts == ("中文,字",)
    (folder / "labels" / "PAL1.txt").write_bytes(b"\xff\xff")
    assert "is not text in GBK" in rows("casia10k", folder)[1][0]


@pytest.mark.parametrize(
    ("name", "file", "text", "reason"),
    [
        ("mlt2017", "gt_img_1.txt", f"{SQUARE},word\n", "region 1: expected x1,...,y4,script,text"),
        ("rctw17", "img_1.txt", f"{SQUARE},2,word\n", "region 1: expected 0 or 1"),
        ("td500", "IMG_1.gt", "0 0 10 10 40 10\n", "line 1: expected index difficult x y width height angle"),
        ("td500", "IMG_1.gt", "0 0 10 10 40 10 nan\n", "line 1: expected index"),
        ("totaltext", "poly_gt_img_1.txt", "x: [[1 2]], y: [[1 2]], transcriptions: [u'a']", "three or more corners"),
        ("totaltext", "poly_gt_img_1.txt", "nonsense", "entry 1: expected x: [[...]]"),
        ("ctw1500", "0001001.txt", f"{SQUARE},a\n", "line 1: expected x1,y1,...,####text"),
        ("ctw1500", "0001001.txt", "1,2,3,####a\n", "line 1: expected three or more corners"),
        ("ctw1500", "0001.xml", "<a><box><segs>1,2</segs></box></a>", "box 1: expected three or more corners"),
        ("ctw1500", "0001.xml", "<a", "is not XML"),
        ("ctw1500", "0001.xml", '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "declares a document type"),
        ("funsd", "form.json", "[]", 'expected {"form": [...]}'),
        ("funsd", "form.json", '{"form": [{"words": [{"box": [1, 2]}]}]}', "expected a word"),
        ("funsd", "form.json", '{"form": [{"words": [{"box": [1, 2, "x", 4], "text": "a"}]}]}', "region 1: points"),
        ("funsd", "form.json", "[" * 100_000, "not JSON"),
    ],
)
def test_a_bad_row_is_named_and_its_page_left_out(folder: Path, name: str, file: str, text: str, reason: str) -> None:
    (folder / "labels" / file).write_text(text, encoding="utf-8")
    pages, [bad] = rows(name, folder)
    assert pages == []
    assert reason in bad


@given(st.floats(-4, 4), st.integers(-500, 500), st.integers(1, 500), st.integers(1, 500))
def test_a_turned_rectangle_keeps_its_sides_and_its_centre(angle: float, left: int, width: int, height: int) -> None:
    corners = np.array(page_files.turned(left, 7, width, height, angle))
    sides = np.linalg.norm(corners - np.roll(corners, -1, 0), axis=1)
    np.testing.assert_allclose(sides, [width, height, width, height], atol=0.05)
    np.testing.assert_allclose(corners.mean(0), [left + width / 2, 7 + height / 2], atol=0.05)


def test_a_quarter_turn() -> None:
    assert page_files.turned(10, 10, 40, 20, math.pi / 2) == [[40.0, 0.0], [40.0, 40.0], [20.0, 40.0], [20.0, 0.0]]


def annotated(name: str, **more: object) -> dict[str, object]:
    flat = [value for corner in CORNERS for value in corner]
    return {
        "imgs": {"7": {"id": 7, "file_name": name, "set": "val"}, "8": {"id": 8, "file_name": "img_1.jpg"}},
        "anns": {"1": {"image_id": 7, "points": flat, "mask": flat, "utf8_string": "a", **more}},
        "imgToAnns": {"7": ["1"], "8": []},
    }


@pytest.mark.parametrize("name", ["textocr", "cocotext"])
def test_annotations_of_all_pages(folder: Path, name: str) -> None:
    (folder / "set.json").write_text(json.dumps(annotated("inner/a.jpg")), encoding="utf-8")
    [page, empty], bad = rows(name, folder, "set.json")
    assert (page.path, page.texts, empty.texts, bad) == (folder / "images" / "inner" / "a.jpg", ("a",), (), [])
    np.testing.assert_array_equal(page.polys[0], CORNERS)


def test_an_image_of_another_folder_is_found_by_its_name(folder: Path) -> None:
    (folder / "set.json").write_text(json.dumps(annotated("train/img_1.jpg")), encoding="utf-8")
    assert rows("textocr", folder, "set.json")[0][0].path == folder / "images" / "img_1.jpg"


def test_coco_text_has_splits_and_illegible_text(folder: Path) -> None:
    (folder / "set.json").write_text(json.dumps(annotated("img_1.jpg", legibility="illegible")), encoding="utf-8")
    [page] = set_files.coco_text(folder / "set.json", folder / "images", "val")
    assert isinstance(page, Page)
    assert page.texts == ("###",)
    assert list(set_files.coco_text(folder / "set.json", folder / "images", "train")) == []


@pytest.mark.parametrize("name", ["../set.json", "/etc/passwd", "no.jpg", "a\0b.jpg", 7, None, ""])
def test_an_image_that_is_not_in_the_folder_is_left_out(folder: Path, name: object) -> None:
    (folder / "set.json").write_text(json.dumps(annotated(name)), encoding="utf-8")  # type: ignore[arg-type]
    [page], [bad] = rows("textocr", folder, "set.json")
    assert page.path.name == "img_1.jpg"
    assert "no such image" in bad or "not the name of an image" in bad


def test_lsvt(folder: Path) -> None:
    region = {"transcription": "中", "points": CORNERS, "illegibility": False}
    whole = {"gt_0": [region, {**region, "illegibility": True}], "gt_1": [region], "img_1": 3}
    (folder / "set.json").write_text(json.dumps(whole), encoding="utf-8")
    [page], bad = rows("lsvt", folder, "set.json")
    assert (page.path.name, page.texts) == ("gt_0.jpg", ("中", "###"))
    assert [reason.rpartition("/")[2] for reason in bad] == [
        "gt_1.jpg: there is no such image",
        "img_1.jpg: expected a JSON list of regions, found 3",
    ]


def test_svt(folder: Path) -> None:
    word = '<taggedRectangle height="10" width="40" x="10" y="10"><tag>LIVING</tag></taggedRectangle>'
    image = "<image><imageName>{}</imageName><taggedRectangles>{}</taggedRectangles></image>"
    images = image.format("inner/a.jpg", word) + image.format("no.jpg", word) + image.format("img_1.jpg", "<x/>")
    broken = image.format("PAL1.jpg", word.replace('x="10"', ""))
    (folder / "train.xml").write_text(f"<tagset>{images}{broken}</tagset>", encoding="utf-8")
    [page, empty], bad = rows("svt", folder, "train.xml")
    assert (page.path, page.texts, empty.texts) == (folder / "images" / "inner" / "a.jpg", ("LIVING",), ())
    np.testing.assert_array_equal(page.polys[0], CORNERS)
    assert "no.jpg: there is no such image" in bad[0]
    assert "PAL1.jpg: rectangle 1: expected x, y, width and height" in bad[1]


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (set_files.text_ocr, "[]", "is not a JSON object"),
        (set_files.text_ocr, "{", "is not JSON"),
        (set_files.text_ocr, '{"imgs": {}}', "lacks imgs, anns or imgToAnns"),
        (set_files.svt, "<a", "is not XML"),
        (word_lists.iiit5k, "MATLAB 5.0", "is damaged or not traindata.mat"),
    ],
)
def test_a_file_of_something_else_is_an_error(
    tmp_path: Path, read: Callable[..., Iterable[object]], text: str, message: str
) -> None:
    (tmp_path / "file").write_text(text)
    with pytest.raises(KitError, match=re.escape(message)):
        list(read(tmp_path / "file", *([tmp_path] if read is not word_lists.iiit5k else [])))


def test_a_plate_is_the_name_of_its_image(folder: Path) -> None:
    """The example of CCPD's own page."""
    [(text, corners)] = plates.plate(Path(f"{PLATE}.jpg"))
    assert text == "皖AY339S"
    assert corners == [[154, 383], [363, 402], [386, 473], [177, 454]]
    found, bad = rows("ccpd", folder, "images")
    assert ([page.texts for page in found], len(bad)) == ([("皖AY339S",)], 7)
    (folder / "train.txt").write_text(f"{PLATE}.jpg\n../{PLATE}.jpg\n")
    found, bad = rows("ccpd", folder, "train.txt")
    assert len(found) == 1
    assert "is not the name of an image inside its folder" in bad[0]


@pytest.mark.parametrize("place", ["34_0_22_27_27_33_16", "0_25_22_27_27_33_16", "0_0_35_27_27_33_16", "0_0_22"])
def test_a_sign_that_does_not_exist(place: str) -> None:
    name = PLATE.replace("0_0_22_27_27_33_16", place)
    with pytest.raises(BadSampleError, match=r"a sign that does not exist|the name is not"):
        plates.plate(Path(f"{name}.jpg"))


def test_iiit5k(tmp_path: Path) -> None:
    scipy_io = pytest.importorskip("scipy.io")
    kinds = [("ImgName", object), ("GroundTruth", object)]
    table = np.array([[("test/1.png", "private"), ("test/2.png", ""), ("test/3.png", "a\tb")]], dtype=kinds)
    scipy_io.savemat(tmp_path / "testdata.mat", {"testdata": table})
    found, left_out = word_lists.iiit5k(tmp_path / "testdata.mat")
    assert found == ["test/1.png\tprivate"]
    assert [reason.split(": ")[1].split(" has")[0] for reason in left_out] == ["row 2", "row 3"]


def test_the_names_are_those_of_the_table() -> None:
    assert set(published.NAMES) == set(DATA_SETS)
    assert all(one.pages or one.words for one in DATA_SETS.values())
