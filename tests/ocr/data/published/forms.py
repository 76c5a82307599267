"""A few files of each published data set, in its own format: two pages of 90 x 60 pixels, or two words."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import savemat

from tests.ocr.data.images import write_image

Made = tuple[Path, Path]
"""The labels and the folder of the images."""
QUAD = [[10, 10], [50, 10], [50, 20], [10, 20]]
FLAT = [value for point in QUAD for value in point]
SECOND = [[10, 30], [50, 30], [50, 45], [10, 45]]
CURVED = [10, 10, 20, 8, 30, 7, 40, 7, 50, 8, 60, 10, 70, 12, 70, 22, 60, 20, 50, 18, 40, 17, 30, 17, 20, 18, 10, 20]
PLATE = "025-95_113-10&10_50&20-50&20_10&20_10&10_50&10-0_0_22_27_27_33_16-37-15"


def image(path: Path, shade: int = 80) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_image(path, shade, height=60, width=90)


def _rows(*names: str, text: str, encoding: str = "utf-8-sig") -> Callable[[Path], Made]:
    """Two pages of rows; `names` are those of a label file and of its image, with {} for the number."""

    def make(root: Path) -> Made:
        (root / "gt").mkdir(parents=True)
        for number in (1, 2):
            image(root / "images" / names[1].format(number))
            (root / "gt" / names[0].format(number)).write_bytes(text.encode(encoding))
        return root / "gt", root / "images"

    return make


def flat(points: list[list[int]]) -> str:
    return ",".join(str(value) for point in points for value in point)


def _total_text(word: str, points: list[list[int]]) -> str:
    xs, ys = (" ".join(str(point[axis]) for point in points) for axis in (0, 1))
    return f"x: [[{xs}]], y: [[{ys}]], ornt: [u'c'], transcriptions: [{word}]\n"


def _whole(content: Any, *names: str) -> Callable[[Path], Made]:
    """One JSON file for all images."""

    def make(root: Path) -> Made:
        for name in names:
            image(root / "images" / name)
        (root / "gt.json").write_text(json.dumps(content), encoding="utf-8")
        return root / "gt.json", root / "images"

    return make


def _coco(polygon: str, regions: Mapping[str, Any]) -> dict[str, Any]:
    places = {"7": {polygon: FLAT}, "8": {polygon: [value for point in SECOND for value in point]}}
    return {
        "imgs": {"a1": {"id": "a1", "set": "train", "file_name": "train/a1.jpg"}},
        "anns": {key: {"id": key, **places[key], **regions[key]} for key in places},
        "imgToAnns": {"a1": [7, "8"]},
    }


def _svt(root: Path) -> Made:
    image(root / "svt1" / "img" / "00_00.jpg")
    (root / "svt1" / "train.xml").write_text(
        '<?xml version="1.0" encoding="utf-8"?>\n<tagset><image><imageName>img/00_00.jpg</imageName>'
        '<address>1 A St</address><lex>ONE,TWO</lex><Resolution x="90" y="60"/><taggedRectangles>'
        '<taggedRectangle height="10" width="40" x="10" y="10"><tag>ONE</tag></taggedRectangle>'
        '<taggedRectangle height="15" width="40" x="10" y="30"><tag>TWO</tag></taggedRectangle>'
        "</taggedRectangles></image></tagset>",
        encoding="utf-8",
    )
    return root / "svt1" / "train.xml", root / "svt1"


def _ctw1500(root: Path) -> Made:
    (root / "gt").mkdir(parents=True)
    points = ",".join(map(str, CURVED))
    image(root / "images" / "0001.jpg")
    image(root / "images" / "1001.jpg")
    (root / "gt" / "0001.xml").write_text(
        '<Annotations><image file="0001.jpg"><box height="15" left="10" top="7" width="60">'
        f"<label>one &amp; two</label><segs>{points}</segs></box></image></Annotations>"
    )
    (root / "gt" / "0001001.txt").write_text(f"{points},####Latin 9\n{points},#######\n")
    return root / "gt", root / "images"


def _funsd(root: Path) -> Made:
    image(root / "images" / "0000971160.png")
    (root / "annotations").mkdir(parents=True)
    words = [{"text": "Registration", "box": [10, 10, 50, 20]}, {"text": "No.", "box": [10, 30, 50, 45]}]
    form = {"form": [{"id": 0, "text": "Registration No.", "box": [10, 10, 50, 45], "linking": [[0, 1]],
                      "label": "question", "words": words}]}  # fmt: skip
    (root / "annotations" / "0000971160.json").write_text(json.dumps(form))
    return root / "annotations", root / "images"


def _cute80(root: Path) -> Made:
    image(root / "CUTE80" / "image001.jpg")
    image(root / "CUTE80" / "image056.JPG")
    xs, ys = (" ".join(map(str, CURVED[axis::2])) for axis in (0, 1))
    box_xs, box_ys = (" ".join(str(point[axis]) for point in QUAD) for axis in (0, 1))
    (root / "GroundTruth.xml").write_text(
        '<?xml version="1.0" encoding="utf-8"?>\n<tagset>\n   <Image>\n      <ImageName>image001.jpg</ImageName>\n'
        f'      <PolygonPoints x="{xs}" y="{ys}">test</PolygonPoints>\n'
        f'      <PolygonPoints x="{box_xs}" y="{box_ys}">test</PolygonPoints>\n   </Image>\n'
        "   <Image>\n      <ImageName>image056.JPG</ImageName>\n"
        f'      <PolygonPoints x="{box_xs}" y="{box_ys}">test</PolygonPoints>\n   </Image>\n</tagset>',
        encoding="utf-8",
    )
    return root / "GroundTruth.xml", root / "CUTE80"


def cute80_words(root: Path, *rows: str) -> Made:
    """test_label.txt next to the folder of the words."""
    image(root / "timage" / "001.jpg")
    image(root / "timage" / "002.jpg")
    (root / "test_label.txt").write_text("".join(f"{row}\n" for row in rows))
    return root / "test_label.txt", root


def _share(corners: list[list[int]]) -> list[float]:
    """Left, top, right and bottom of a box as fractions of the image size."""
    (left, top), _, (right, bottom), _ = corners
    return [left / 90, top / 60, right / 90, bottom / 60]


def _docile_folder(root: Path, folder: str, content: Any) -> Made:
    for number in (0, 1):
        image(root / "cached_images" / "516f2d61" / f"{number}.png")
    (root / folder).mkdir()
    (root / folder / "516f2d61.json").write_text(json.dumps(content))
    return root / folder, root / "cached_images"


def _docile(root: Path) -> Made:
    def of_page(number: int, text: str, corners: list[list[int]]) -> dict[str, Any]:
        left, top, right, bottom = _share(corners)
        geometry = [[left, top], [right, bottom]]
        line = {"geometry": geometry, "words": [{"value": text, "confidence": 0.98, "geometry": geometry}]}
        blocks = [{"geometry": geometry, "lines": [line], "artefacts": []}]
        return {"page_idx": number, "dimensions": [1616, 1218], "orientation": {"value": None}, "blocks": blocks}

    return _docile_folder(root, "ocr", {"pages": [of_page(0, "PHILIP", QUAD), of_page(1, "MORRIS", SECOND)]})


def _docile_fields(root: Path) -> Made:
    content = {
        "field_extractions": [{"bbox": _share(QUAD), "fieldtype": "date_issue", "page": 0, "text": "1 2 02"}],
        "line_item_extractions": [
            {"bbox": _share(SECOND), "fieldtype": "line_item_code", "line_item_id": 1, "page": 0, "text": "42630"}
        ],
        "line_item_headers": [{"bbox": _share(QUAD), "line_item_id": 0, "page": 1, "text": "AMOUNT"}],
        "metadata": {"page_count": 2, "page_sizes_at_200dpi": [[90, 60], [90, 60]]},
    }
    return _docile_folder(root, "annotations", content)


def _ccpd(root: Path) -> Made:
    image(root / "ccpd_base" / f"{PLATE}.jpg")
    (root / "train.txt").write_text(f"ccpd_base/{PLATE}.jpg\n")
    return root / "train.txt", root


def _synthtext(root: Path) -> Made:
    cells = [np.empty((1, 1), object) for _ in range(3)]
    quads = np.array([QUAD, SECOND], float).transpose(2, 1, 0)
    for cell, value in zip(cells, ("8/a.jpg", quads, np.array(["one\ntwo"])), strict=True):
        cell[0, 0] = value
    image(root / "images" / "8" / "a.jpg")
    savemat(root / "gt.mat", dict(zip(("imnames", "wordBB", "txt"), cells, strict=True)))
    return root / "gt.mat", root / "images"


def iiit5k(root: Path, *rows: tuple[Any, Any], variable: str = "traindata", compressed: bool = True) -> Made:
    """traindata.mat; the structure array has a row for each word, as MATLAB writes it."""
    kinds = [("ImgName", object), ("GroundTruth", object), ("smallLexi", object)]
    array = np.array([[(*row, np.array(["A", "B"], object)) for row in rows]], dtype=kinds)
    image(root / "train" / "1_1.png")
    image(root / "train" / "1_2.png")
    savemat(root / "traindata.mat", {variable: array}, do_compression=compressed)
    return root / "traindata.mat", root


FORMS: Mapping[str, tuple[Callable[[Path], Made], Mapping[str, list[tuple[str, list[Any]]]]]] = {
    "mlt2017": (
        _rows(
            "gt_img_{}.txt",
            "img_{}.jpg",
            text=f"{flat(QUAD)},Latin,one, two\r\n{flat(SECOND)},Symbols,###\r\n",
        ),
        {f"img_{number}.jpg": [("one, two", QUAD), ("###", SECOND)] for number in (1, 2)},
    ),
    "rctw17": (
        _rows("image_{}.txt", "image_{}.jpg", text=f'{flat(QUAD)},0,"中, 文"\n{flat(SECOND)},1,"?"\n'),
        {f"image_{number}.jpg": [("中, 文", QUAD), ("###", SECOND)] for number in (1, 2)},
    ),
    "casia10k": (
        _rows("{}.txt", "{}.jpg", text=f"{flat(QUAD)},中文\r\n{flat(SECOND)},###\r\n", encoding="gbk"),
        {f"{number}.jpg": [("中文", QUAD), ("###", SECOND)] for number in (1, 2)},
    ),
    "td500": (
        _rows("IMG_{}.gt", "IMG_{}.JPG", text="0 0 10 10 40 10 0.0\n1 1 10 30 40 15 0\n"),
        {f"IMG_{number}.JPG": [("", QUAD), ("###", SECOND)] for number in (1, 2)},
    ),
    "totaltext": (
        _rows(
            "poly_gt_img{}.txt",
            "img{}.jpg",
            text=_total_text("u'the'", QUAD).replace("50 50", "50\n 50") + _total_text("u'#'", SECOND),
        ),
        {f"img{number}.jpg": [("the", QUAD), ("###", SECOND)] for number in (1, 2)},
    ),
    "ctw1500": (
        _ctw1500,
        {
            "0001.jpg": [("one & two", np.array(CURVED).reshape(14, 2).tolist())],
            "1001.jpg": [(text, np.array(CURVED).reshape(14, 2).tolist()) for text in ("Latin 9", "###")],
        },
    ),
    "lsvt": (
        _whole(
            {"gt_0": [{"transcription": "中文", "points": QUAD, "illegibility": False},
                      {"transcription": "?", "points": SECOND, "illegibility": True}]},
            "gt_0.jpg",
        ),
        {"gt_0.jpg": [("中文", QUAD), ("###", SECOND)]},
    ),
    "textocr": (
        _whole(_coco("points", {"7": {"utf8_string": "one"}, "8": {"utf8_string": "."}}), "a1.jpg"),
        {"a1.jpg": [("one", QUAD), ("###", SECOND)]},
    ),
    "cocotext-train": (
        _whole(
            _coco("mask", {"7": {"utf8_string": "one", "legibility": "legible"}, "8": {"legibility": "illegible"}}),
            "train/a1.jpg",
        ),
        {"train/a1.jpg": [("one", QUAD), ("###", SECOND)]},
    ),
    "svt": (_svt, {"img/00_00.jpg": [("ONE", QUAD), ("TWO", SECOND)]}),
    "funsd": (_funsd, {"0000971160.png": [("Registration", QUAD), ("No.", SECOND)]}),
    "cute80": (
        _cute80,
        {"image001.jpg": [("", np.array(CURVED).reshape(14, 2).tolist()), ("", QUAD)], "image056.JPG": [("", QUAD)]},
    ),
    "docile": (_docile, {"516f2d61/0.png": [("PHILIP", QUAD)], "516f2d61/1.png": [("MORRIS", SECOND)]}),
    "docile-fields": (
        _docile_fields,
        {"516f2d61/0.png": [("1 2 02", QUAD), ("42630", SECOND)], "516f2d61/1.png": [("AMOUNT", QUAD)]},
    ),
    "ccpd": (_ccpd, {f"ccpd_base/{PLATE}.jpg": [("皖AY339S", QUAD)]}),
    "synthtext": (_synthtext, {"8/a.jpg": [("one", QUAD), ("two", SECOND)]}),
}  # fmt: skip
"""For each set of pages: the function that writes its files, and their regions."""
