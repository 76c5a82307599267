"""Prediction on images without labels: selection, order, and damaged images."""

import json
import os
from pathlib import Path
from typing import Any

import cv2
import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor, nn, ops

from hccl_kit.base.errors import KitError
from hccl_kit.ocr import config, drawing
from hccl_kit.ocr.charset import ALPHANUMERIC
from hccl_kit.ocr.config import Config
from hccl_kit.ocr.data.image_paths import find_images
from hccl_kit.ocr.data.samples import BadSampleError, TextLine
from hccl_kit.ocr.decode.boxes import Box
from hccl_kit.ocr.decode.reading import Reading
from hccl_kit.ocr.infer.inference import Evaluator
from hccl_kit.ocr.serve import predict
from hccl_kit.ocr.serve.pages import PageOfText, Region, write_page
from hccl_kit.ocr.serve.predict import Line
from hccl_kit.ocr.tasks import recipes
from tests.ocr.data.images import write_image, write_png
from tests.ocr.run_tool import CONFIG
from tests.ocr.tiny import ALONE

BATCH = 4


@pytest.fixture(scope="module")
def loaded() -> Config:
    return config.load(CONFIG, [f"eval.loader.batch_size={BATCH}"])


@pytest.fixture(scope="module")
def network(loaded: Config) -> nn.Cell:
    """An untrained network: its readings are meaningless, but differ between images."""
    return recipes.network(loaded)


def folder_of(root: Path, *names: str) -> Path:
    root.mkdir(exist_ok=True)
    for number, name in enumerate(names):
        write_image(root / name, 20 * number)
    return root


def test_images_of_a_folder_are_read_in_order(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "in", "b.png", "a.JPG", "c.bmp")
    (folder / "notes.txt").write_text("")
    assert find_images([folder], limit=9) == [folder / n for n in ("a.JPG", "b.png", "c.bmp")]


def test_files_keep_the_order_of_the_arguments(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "in", "a.png", "b.png")
    other = folder_of(tmp_path / "other", "x.png")
    found = find_images([other / "x.png", folder, folder / "a.png"], limit=9)
    assert [path.name for path in found] == ["x.png", "a.png", "b.png", "a.png"]
    assert find_images([folder], limit=1) == [folder / "a.png"]


def test_labels_are_matched_by_the_end_of_the_path(tmp_path: Path) -> None:
    """The longest matching end is used: two folders may have files with the same name."""
    folder = folder_of(tmp_path / "in", "a.png", "b.png", "c.png", "d.png")
    rows = ["a.png\ttwo words\u2028 more\r", "", "b.png\tno", "in/b.png\tyes", "out/c.png\tno"]
    labels = tmp_path / "gt.txt"
    labels.write_bytes("\n".join(["\ufeff" + rows[0], *rows[1:], f"{folder}/d.png\twhole path"]).encode())
    found = predict.lines_of(find_images([folder]), labels)
    assert [sample.text for sample in found] == ["two words\u2028 more", "yes", "", "whole path"]


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(KitError, match=f"there is no image or folder {tmp_path}/no.png"):
        find_images([tmp_path / "no.png"], limit=9)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(KitError, match=f"{tmp_path}/pipe is not a regular file"):
        find_images([tmp_path / "pipe"])
    with pytest.raises(KitError, match=f"no images in {tmp_path}") as caught:
        find_images([tmp_path], limit=9)
    assert ".png" in (caught.value.hint or "")
    write_image(tmp_path / "a.png", 0)
    for labels in (tmp_path / "no.txt", tmp_path / "a.png"):
        with pytest.raises(KitError, match=f"{labels}"):
            predict.lines_of([tmp_path / "a.png"], labels)


@pytest.mark.parametrize("count", [1, BATCH, 2 * BATCH + 1])
def test_every_image_has_one_reading(loaded: Config, network: nn.Cell, tmp_path: Path, count: int) -> None:
    folder = folder_of(tmp_path, *(f"{n}.png" for n in range(count)))
    samples = [TextLine(path) for path in find_images([folder])]
    predictions = list(predict.read_lines(predict.inference_of(loaded), network, samples))
    assert [prediction.path for prediction in predictions] == [sample.path for sample in samples]
    assert all(prediction.error is None and prediction.truth is None for prediction in predictions)
    assert all(0 <= prediction.reading.confidence <= 1 for prediction in predictions)


class Widths(nn.Cell):
    """A reader that reads the width of an image as a character: in another padding a line has another reading."""

    def construct(self, images: Tensor) -> Tensor:
        number = ops.ones((images.shape[0], 1, 1), ms.float32) * (images.shape[3] % len(ALPHANUMERIC))
        return ops.exp(-ops.square(number - ops.arange(len(ALPHANUMERIC) + 1).reshape((1, 1, -1))))


def test_each_line_is_read_in_the_padding_of_the_evaluation(tmp_path: Path) -> None:
    """The published weights lose spaces in a long one."""
    for number, width in enumerate((6, 30, 12, 20, 31, 9)):
        write_image(tmp_path / f"{number}.png", 254, width=width)
    (tmp_path / "gt.txt").write_text("".join(f"{number}.png\tword\n" for number in range(6)), encoding="utf-8")
    places = [f"eval.dataset.{key}" for key in (f"dataset_root={tmp_path}", "data_dir=.", "label_file=gt.txt")]
    made = config.load(CONFIG, [*places, "eval.loader.batch_size=4", "eval.loader.bucket_widths=[40, 64]"])
    evaluated: dict[Path, Reading] = {}
    Evaluator(made, ALONE, pytest.fail)(Widths(), see=lambda one: evaluated.update({one.sample.path: one.value}))
    lines = predict.read_lines(predict.inference_of(made), Widths(), predict.lines_of([*evaluated], None))
    assert {line.path: line.reading for line in lines} == evaluated
    widths = {ALPHANUMERIC[width % len(ALPHANUMERIC)] for width in (40, 64, 100)}
    assert {reading.text for reading in evaluated.values()} == widths


@pytest.mark.parametrize("bad", [{1}, {4}, {0, 1, 2, 3}, {0, 1, 2, 3, 4}])
def test_a_damaged_image_is_named_and_the_others_are_read(
    loaded: Config, network: nn.Cell, tmp_path: Path, bad: set[int]
) -> None:
    """Also if it is the only one of its batch."""
    folder = folder_of(tmp_path, *(f"{n}.png" for n in range(BATCH + 1)))
    samples = [TextLine(path) for path in find_images([folder])]
    whole = list(predict.read_lines(predict.inference_of(loaded), network, samples))
    for number in bad:
        (folder / f"{number}.png").write_bytes(b"damaged")
    predictions = list(predict.read_lines(predict.inference_of(loaded), network, samples))
    assert [prediction.path for prediction in predictions] == [sample.path for sample in samples]
    assert {n for n, prediction in enumerate(predictions) if prediction.error} == bad
    assert all("not an image" in (predictions[n].error or "") for n in bad)
    for number in set(range(BATCH + 1)) - bad:
        assert predictions[number].reading.text == whole[number].reading.text
        assert predictions[number].reading.confidence == pytest.approx(whole[number].reading.confidence, rel=1e-4)


def test_images_have_the_size_limit_of_the_pipeline(network: nn.Cell, tmp_path: Path) -> None:
    """Also images that are decoded again for drawing."""
    folder_of(tmp_path, "a.png")
    os.mkfifo(tmp_path / "b.png")
    small = config.load(CONFIG, ["eval.dataset.transform_pipeline.0.DecodeImage.max_pixels=199"])
    samples = [TextLine(path) for path in find_images([tmp_path])]
    found = list(predict.read_lines(predict.inference_of(small), network, samples))
    assert "an image of 20 x 10 pixels; accepted: up to 199" in (found[0].error or "")
    assert found[1].error == "it is not a regular file"
    with pytest.raises(BadSampleError, match="20 x 10 pixels"):
        predict.page_image(small, tmp_path / "a.png")
    predict.write_lines(tmp_path / "out.png", found, small)


def test_the_picture_has_a_line_for_every_prediction(loaded: Config, tmp_path: Path) -> None:
    folder_of(tmp_path, "a.png")
    (tmp_path / "b.png").write_bytes(b"damaged")
    predictions = [
        Line(tmp_path / "a.png", Reading("a", 0.5), "a"),
        Line(tmp_path / "b.png", Reading("", 0.0), None, "not an image"),
        Line(tmp_path / "gone.png", Reading("", 0.0), None, "No such file"),
    ]
    predict.write_lines(tmp_path / "out.png", predictions, loaded)
    image = cv2.imdecode(np.fromfile(tmp_path / "out.png", np.uint8), cv2.IMREAD_COLOR)
    assert image.shape[0] == drawing.HEADER + 3 * drawing.ROW


def test_a_picture_that_cannot_be_written_is_named(loaded: Config, tmp_path: Path) -> None:
    with pytest.raises(KitError, match=r"cannot write .*no/out\.png"):
        predict.write_lines(tmp_path / "no" / "out.png", [], loaded)


def box(*, left: float, top: float, width: float = 40, height: float = 10) -> Box:
    corners = [[left, top], [left + width, top], [left + width, top + height], [left, top + height]]
    return Box(np.array(corners, np.float32), 0.9)


def test_texts_are_sorted_by_rows_and_from_left_to_right() -> None:
    """Boxes of one row may differ slightly in height."""
    second, first, third, fourth = box(left=50, top=3), box(left=0, top=5), box(left=0, top=20), box(left=90, top=22)
    regions = predict.in_reading_order([fourth, third, second, first])
    assert [region.box for region in regions] == [first, second, third, fourth]
    assert predict.in_reading_order([]) == ()


def test_each_text_of_a_page_has_the_reading_of_its_crop(loaded: Config, network: nn.Cell, tmp_path: Path) -> None:
    image = np.random.default_rng(0).integers(0, 255, (60, 200, 3), dtype=np.uint8)
    boxes = [box(left=5, top=5, width=80, height=20), box(left=100, top=30, width=60, height=16)]
    page = PageOfText(tmp_path / "page.png", predict.in_reading_order(boxes))
    reader = (predict.inference_of(loaded), network)
    read = predict.read_texts(reader, page, image, None)
    for number, region in enumerate(read.regions):
        (left, top), (right, bottom) = boxes[number].points[0].astype(int), boxes[number].points[2].astype(int)
        write_png(tmp_path / "cut.png", image[top:bottom, left:right])
        (alone,) = predict.read_lines(predict.inference_of(loaded), network, [TextLine(tmp_path / "cut.png")])
        assert region.reading is not None
        assert region.reading.confidence == pytest.approx(alone.reading.confidence, abs=0.02)  # cropped at whole pixels
    assert [region.box for region in read.regions] == boxes
    assert predict.read_texts(reader, PageOfText(Path("empty.png"), ()), image, reader).regions == ()


def test_lines_that_are_certainly_upside_down_are_rotated_before_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fake recogniser that returns the darkest position, and a fake classifier with three results."""
    image = np.full((60, 200, 3), 255, np.uint8)
    boxes = [box(left=0, top=top, width=80) for top in (0, 20, 40)]
    for top in (0, 20, 40):
        image[top : top + 10, :40] = 0
    opinions = [Reading("180", 0.95), Reading("180", 0.6), Reading("0", 0.95)]

    def read_lines(kind: str, _: None, lines: list[TextLine]) -> list[Line]:
        if kind == "turner":
            return [Line(line.path, opinion) for line, opinion in zip(lines, opinions, strict=True)]
        images = [
            cv2.imdecode(np.frombuffer(line.data(), np.uint8), cv2.IMREAD_GRAYSCALE) for line in lines if line.data
        ]
        sides = ["left" if cut[:, :40].mean() < cut[:, 40:].mean() else "right" for cut in images]
        return [Line(line.path, Reading(side, 1.0)) for line, side in zip(lines, sides, strict=True)]

    monkeypatch.setattr(predict, "read_lines", read_lines)
    page = PageOfText(Path("page.png"), predict.in_reading_order(boxes))
    reader: Any = ("reader", None)
    turner: Any = ("turner", None)
    for way, expected in ((None, ["left"] * 3), (turner, ["right", "left", "left"])):
        read = predict.read_texts(reader, page, image, way)
        assert [region.reading.text for region in read.regions if region.reading] == expected


def test_results_are_written_in_the_format_of_a_label_file() -> None:
    region = Region(box(left=0, top=0), Reading("\u4e2d", 0.5))
    page = PageOfText(Path("a.png"), (region,))
    row = {"transcription": "\u4e2d", "points": [[0, 0], [40, 0], [40, 10], [0, 10]], "score": 0.9, "confidence": 0.5}
    assert page.row() == {"path": "a.png", "regions": [row]}
    path, text = page.fields()
    assert (path, json.loads(text)) == ("a.png", [row])
    assert "\u4e2d" in text
    unread = PageOfText(Path("b.png"), (), "torn")
    assert unread.row() == {"path": "b.png", "regions": None, "error": "torn"}
    assert unread.fields() == ["b.png", "null"]
    unread_line = Line(Path("c.png"), Reading("", 0.0), "b", "torn")
    assert unread_line.row() == {"path": "c.png", "text": None, "confidence": None, "error": "torn", "truth": "b"}
    assert unread_line.fields() == ["c.png", "", "", "b"]
    assert Line(Path("c.png"), Reading("a", 1.0), "b").row() == {
        "path": "c.png", "text": "a", "confidence": 1.0, "truth": "b",
    }  # fmt: skip


@pytest.mark.parametrize(("name", "start"), [("a.PNG", b"\x89PNG"), ("a.jpg", b"\xff\xd8\xff"), ("a.webp", b"RIFF")])
def test_the_format_of_a_picture_follows_from_its_suffix(tmp_path: Path, name: str, start: bytes) -> None:
    write_page(tmp_path / name, PageOfText(Path("a.png"), ()), np.zeros((9, 9, 3), np.uint8))
    assert (tmp_path / name).read_bytes().startswith(start)


@pytest.mark.parametrize("read", [False, True])
def test_a_page_is_drawn_with_its_texts(tmp_path: Path, read: bool) -> None:
    image = np.full((100, 200, 3), 255, np.uint8)
    region = Region(box(left=20, top=20, width=100, height=30), Reading("text", 0.9) if read else None)
    write_page(tmp_path / "page.png", PageOfText(Path("a.png"), (region,)), image)
    drawn = cv2.imdecode(np.fromfile(tmp_path / "page.png", np.uint8), cv2.IMREAD_COLOR)
    assert drawn.shape == (drawing.HEADER + 100, 400 if read else 200, 3)
    drawn = drawn[drawing.HEADER :]
    blue, green, red = map(int, drawn[20, 60])
    assert green > 100 + max(blue, red)
    assert drawn[:, 200:].size == 0 or drawn[20:50, 220:320].min() < 100
    assert (image == 255).all()
