"""Each published data set in its own format: its content, and rows that are skipped and named."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data.pages.pages import Page
from hccl_kit.ocr.data.published.marked import Marked
from hccl_kit.ocr.data.published.sets import PAGE_SETS
from tests.ocr.data.published.forms import FORMS, PLATE, QUAD, Made, flat, image

PAGES_OF_OURS = {"ic15", "sroie", "cocotext-val"}
"""Sets whose readers have separate tests, and the other half of a set."""


def read(name: str, made: Made) -> Iterator[Marked | str]:
    for row in PAGE_SETS[name].read(*made):
        assert not isinstance(row, Page)
        yield row


def left_out(name: str, made: Made) -> list[str]:
    """Everything that is skipped, pages and rows."""
    return [line for row in read(name, made) for line in ([row] if isinstance(row, str) else row.left_out)]


def test_every_set_has_test_files() -> None:
    assert FORMS.keys() | PAGES_OF_OURS == PAGE_SETS.keys()


def test_the_validation_half_of_coco_text_has_no_training_page(tmp_path: Path) -> None:
    assert list(read("cocotext-val", FORMS["cocotext-train"][0](tmp_path))) == []


def test_coco_text_of_the_challenge_has_another_polygon_key(tmp_path: Path) -> None:
    labels, _ = made = FORMS["cocotext-train"][0](tmp_path)
    now = list(read("cocotext-train", made))
    labels.write_text(labels.read_text().replace('"mask"', '"polygon"'))
    assert list(read("cocotext-train", made)) == now


@pytest.mark.parametrize(
    ("name", "file", "row", "reason"),
    [
        ("mlt2017", "gt_img_1.txt", "1,2,3", "expected x1,y1,x2,y2,x3,y3,x4,y4,script,text, found '1,2,3'"),
        ("mlt2017", "gt_img_1.txt", f"{flat(QUAD)},Latin,", "text is missing or blank: ''"),
        ("mlt2017", "gt_img_1.txt", "a,1,2,3,4,5,6,7,Latin,one", "not a number: 'a'"),
        ("mlt2017", "gt_img_1.txt", "nan,1,2,3,4,5,6,7,Latin,one", "not a number: 'nan'"),
        ("mlt2017", "gt_img_1.txt", "9999999,1,2,3,4,5,6,7,Latin,one", "not a valid coordinate: 9999999.0"),
        ("mlt2017", "gt_img_1.txt", "1,1,2,2,3,3,4,4,Latin,one", "a polygon without area"),
        ("mlt2017", "gt_img_1.txt", f"{flat(QUAD)},Latin,a\x1b[2Jb", "control characters in the text"),
        ("mlt2017", "gt_img_1.txt", f"{flat(QUAD)},Latin,a\tb", "control characters in the text"),
        ("rctw17", "image_1.txt", f"{flat(QUAD)},0", 'expected x1,y1,x2,y2,x3,y3,x4,y4,difficult,"text"'),
        ("rctw17", "image_1.txt", f'{flat(QUAD)},0,""', "text is missing or blank: ''"),
        ("casia10k", "1.txt", flat(QUAD), "expected x1,y1,x2,y2,x3,y3,x4,y4,text"),
        ("td500", "IMG_1.gt", "0 0 10 10 40 10", "expected index difficult x y width height angle"),
        ("td500", "IMG_1.gt", "0 0 10 10 0 10 0.1", "a polygon without area"),
        (
            "totaltext",
            "poly_gt_img1.txt",
            "x: [[1 2]], y: [[1 2 3]], ornt: [u'c'], transcriptions: [u'a']",
            "2 x and 3 y coordinates; expected the same number of each",
        ),
        (
            "totaltext",
            "poly_gt_img1.txt",
            "x: [[1 2]], y: [[1 2]], ornt: [u'c'], transcriptions: [u'a']",
            "of 3 to 256",
        ),
        (
            "totaltext",
            "poly_gt_img1.txt",
            "x: [[1 2 3]], y: [[1 4 3]], ornt: [u'c'], transcriptions: []",
            "text is missing or blank",
        ),
        ("totaltext", "poly_gt_img1.txt", "x: [[1 2 3]]", "expected x: [[...]], y: [[...]]"),
        ("ctw1500", "0001001.txt", "1,2,3,4", "expected x1,y1,...,####text"),
        ("ctw1500", "0001001.txt", "1,2,3,4,####one", "of 3 to 256 corners, found 4 numbers"),
    ],
)
def test_an_invalid_row_is_named_and_the_others_are_kept(
    name: str, file: str, row: str, reason: str, tmp_path: Path
) -> None:
    labels, _ = made = FORMS[name][0](tmp_path)
    before = sum(len(page.regions) for page in read(name, made) if isinstance(page, Marked))
    path = labels / file
    encoding = "gbk" if name == "casia10k" else "utf-8"
    text = path.read_text(encoding=encoding).rstrip("\n")
    path.write_text(f"{text}\n{row}\n", encoding=encoding)
    place = f"{path}:{text.count(chr(10)) + 2}"
    [line] = left_out(name, made)
    assert line.startswith(f"{place}: ")
    assert reason in line
    assert sum(len(page.regions) for page in read(name, made) if isinstance(page, Marked)) == before


@pytest.mark.parametrize(
    ("name", "old", "new", "reason"),
    [
        ("lsvt", '"gt_0"', '"../gt_0"', "the image '../gt_0.jpg' is not in"),
        ("lsvt", '"gt_0"', '"gt_1"', "has no image gt_1.jpg"),
        ("lsvt", "[10, 10], [50, 10]", "[10], [50, 10]", "points must be [x, y]"),
        ("lsvt", "[10, 10], [50, 10]", "[NaN, 10], [50, 10]", "not a valid coordinate: nan"),
        ("lsvt", "[10, 10], [50, 10]", "[true, 10], [50, 10]", "not a valid coordinate: True"),
        ("lsvt", "[10, 10], [50, 10]", "[1e999, 10], [50, 10]", "not a valid coordinate: inf"),
        ("lsvt", "\\u4e2d", "\\ud800", "control characters in the text"),
        ("textocr", "train/a1.jpg", "/etc/passwd", "the image '/etc/passwd' is not in"),
        ("textocr", "train/a1.jpg", "a/../../a1.jpg", "the image 'a/../../a1.jpg' is not in"),
        ("textocr", "train/a1.jpg", "a1\\u0000.jpg", "not the name of an image"),
        ("textocr", "train/a1.jpg", "\\ud800.jpg", "not the name of an image"),
        ("textocr", "train/a1.jpg", "x" * 5000, "is not in"),
        ("textocr", "train/a1.jpg", "/", "is not in"),
        ("textocr", "train/a1.jpg", ".", "has no image ."),
        ("textocr", '[7, "8"]', '[7, "8", 9]', "image a1, region 3: expected a JSON object, found None"),
        ("textocr", '[7, "8"]', "{}", "image a1: expected a JSON list"),
        ("textocr", '"utf8_string": "one"', '"utf8_string": 1', "image a1, region 1: text is missing or blank: '1'"),
        ("cocotext-train", '"mask"', '"other"', "expected a JSON list, found None"),
        ("svt", 'x="10" y="10"', 'x="10"', "image 1, text 1: not a number: ''"),
        ("svt", "<tag>ONE</tag>", "", "image 1, text 1: text is missing or blank: 'None'"),
        ("svt", "img/00_00.jpg", "../svt1/img/00_00.jpg", "is not in"),
        ("cute80", "image001.jpg", "image174.jpg", "image 1: {images} has no image image174.jpg"),
        ("cute80", 'x="10 20', 'x="20', "image 1, text 1: 13 x and 14 y coordinates; expected the same number of each"),
        ("cute80", 'x="10 50', 'x="a 50', "image 1, text 2: not a number: 'a'"),
        ("docile", '"PHILIP"', '""', "516f2d61.json: page 0, word 1: text is missing or blank: ''"),
        ("docile", '"value": "PHILIP"', '"value": 1', "page 0, word 1: text is missing or blank: '1'"),
        ("docile", "[[0.1111111111111111", "[[1.5", "page 0, word 1: not a share from 0 to 1: 1.5"),
        ("docile", "[[0.1111111111111111", "[[true", "page 0, word 1: not a share from 0 to 1: True"),
        ("docile", "[[0.1111111111111111, ", "[[", "page 0, word 1: a box needs 4 numbers, found 3"),
        ("docile", '"geometry": [[', '"geometry": [1, [', "page 0, word 1: expected a JSON list, found None"),
        ("docile-fields", '"1 2 02"', '"1\\n2"', "field_extractions 1: control characters in the text"),
        ("docile-fields", '"page": 1', '"page": "1"', "line_item_headers 1: not a page number: 1"),
        ("docile-fields", '"page": 1', '"page": -1', "line_item_headers 1: not a page number: -1"),
        ("docile-fields", '"page": 1', '"page": 2', "2.png: No such file or directory"),
        ("ccpd", "ccpd_base/", "../ccpd_base/", "train.txt:1: the image"),
    ],
)
def test_an_invalid_value_is_named(name: str, old: str, new: str, reason: str, tmp_path: Path) -> None:
    labels, images = made = FORMS[name][0](tmp_path)
    file = next(labels.iterdir()) if labels.is_dir() else labels
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")
    lines = left_out(name, made)
    assert lines
    assert lines[0].startswith(str(tmp_path))
    assert reason.format(images=images) in lines[0]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("lsvt", b"[1]", "expected a JSON object, found [1]"),
        ("lsvt", b"{", "is not JSON"),
        ("lsvt", b"[" * 100_000, "is not JSON"),
        ("lsvt", b"\xff", "is not UTF-8"),
        ("textocr", b'{"imgs": {}}', "anns: expected a JSON object, found None"),
        ("svt", b"<a>", "is not XML"),
        ("svt", b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "has a document type"),
    ],
)
def test_a_file_in_another_format_is_refused(name: str, content: bytes, reason: str, tmp_path: Path) -> None:
    labels, _ = made = FORMS[name][0](tmp_path)
    labels.write_bytes(content)
    with pytest.raises(KitError, match=reason.replace("[", r"\[")):
        list(read(name, made))


@pytest.mark.parametrize(
    ("name", "file", "content", "reason"),
    [
        ("ctw1500", "0001.xml", b"<a>", "is not XML"),
        ("funsd", "0000971160.json", b"{}", "expected a JSON list, found None"),
        ("funsd", "0000971160.json", b"{", "is not JSON"),
        ("docile", "516f2d61.json", b"{", "is not JSON"),
        ("docile", "516f2d61.json", b"[]", "expected a JSON object, found []"),
        ("docile", "516f2d61.json", b'{"pages": [1]}', "expected a JSON object, found 1"),
        ("docile-fields", "516f2d61.json", b"{}", "expected a JSON list, found None"),
        ("casia10k", "1.txt", b"\xff\xff", "is not GBK: byte 0"),
        ("totaltext", "poly_gt_img1.txt", b"\xff", "is not UTF-8: byte 0"),
    ],
)
def test_a_page_with_an_invalid_file_is_skipped(
    name: str, file: str, content: bytes, reason: str, tmp_path: Path
) -> None:
    labels, _ = made = FORMS[name][0](tmp_path)
    (labels / file).write_bytes(content)
    [line] = left_out(name, made)
    assert line.startswith(str(labels / file))
    assert reason in line


def test_unpaired_labels_and_images_are_named(tmp_path: Path) -> None:
    labels, images = made = FORMS["mlt2017"][0](tmp_path)
    (images / "img_1.jpg").unlink()
    (labels / "gt_img_2.txt").unlink()
    assert left_out("mlt2017", made) == [
        f"{labels / 'gt_img_1.txt'}: {images} has no image img_1.jpg",
        f"{images / 'img_2.jpg'}: {labels} has no .txt file of it",
    ]


def test_a_document_without_images_is_named(tmp_path: Path) -> None:
    labels, images = made = FORMS["docile"][0](tmp_path)
    (labels / "other.json").write_text("{}")
    (images / "516f2d61" / "1.png").write_bytes(b"damaged")
    assert left_out("docile", made) == [
        f"{images / '516f2d61' / '1.png'}: not an image that OpenCV reads",
        f"{labels / 'other.json'}: {images} has no folder other with images of its pages",
    ]


def test_a_folder_of_licence_plates_needs_no_list(tmp_path: Path) -> None:
    for name in (PLATE, PLATE.replace("-0_0_", "-33_0_"), PLATE.replace("0_0_22", "34_0_22"), "car", "1-2-3-4-5-6-7"):
        image(tmp_path / f"{name}.jpg")
    made = tmp_path, tmp_path
    texts = [text for page in read("ccpd", made) if isinstance(page, Marked) for text, _ in page.regions]
    assert sorted(texts) == ["AY339S", "皖AY339S"]  # 33 is the letter O, which means no character
    reasons = "\n".join(left_out("ccpd", made))
    assert "no character has the index '34'; accepted: 0 to 33" in reasons
    assert "expected a name of 7 fields, found 'car'" in reasons
    assert "expected 4 corners, found '4'" in reasons


def test_texts_of_total_text_are_python_literals(tmp_path: Path) -> None:
    labels, images = FORMS["totaltext"][0](tmp_path)
    start = "x: [[10, 50, 50]], y: [[10 10 20]], ornt: [u'h'], transcriptions: "
    rows = ['[u"it\'s"]', "[u'caf\\xe9']", "[u'a', u'b']", "['\\\\']"]
    (labels / "poly_gt_img1.txt").write_text("".join(f"{start}{row}\n" for row in rows))
    [page] = [
        page for page in read("totaltext", (labels, images)) if isinstance(page, Marked) and page.image.stem == "img1"
    ]
    assert [text for text, _ in page.regions] == ["it's", "café", "a,b", "\\"]


def test_unterminated_quotes_take_linear_time(tmp_path: Path) -> None:
    """A page of them; a search from each quote would take minutes."""
    labels, _ = made = FORMS["totaltext"][0](tmp_path)
    start = "x: [[10, 50, 50]], y: [[10 10 20]], ornt: [u'h'], transcriptions: "
    (labels / "poly_gt_img1.txt").write_text(start + "[" + "\\'" * 100_000 + "]\n")
    page = next(page for page in read("totaltext", made) if isinstance(page, Marked) and page.image.stem == "img1")
    assert [text for text, _ in page.regions] == ["'" * 99_999]
