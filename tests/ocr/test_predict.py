"""Reading images that nobody labelled: which ones, in what order, and what happens to a damaged one."""

from pathlib import Path

import cv2
import numpy as np
import pytest
from mindspore import nn

from hccl_kit.errors import KitError
from hccl_kit.ocr import config, picture, predict, recipes
from hccl_kit.ocr.config import Config
from hccl_kit.ocr.data.samples import TextLine
from hccl_kit.ocr.decode.ctc import Reading
from hccl_kit.ocr.predict import Prediction
from tests.ocr.data.images import write_image
from tests.ocr.programs import CONFIG

BATCH = 4


@pytest.fixture(scope="module")
def loaded() -> Config:
    return config.load(CONFIG, [f"eval.loader.batch_size={BATCH}"])


@pytest.fixture(scope="module")
def network(loaded: Config) -> nn.Cell:
    """Without training: its readings mean nothing, but they differ from image to image."""
    return recipes.network(loaded)


def folder_of(root: Path, *names: str) -> Path:
    root.mkdir(exist_ok=True)
    for number, name in enumerate(names):
        write_image(root / name, 20 * number)
    return root


def test_a_folder_gives_its_images_in_order(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "in", "b.png", "a.JPG", "c.bmp")
    (folder / "notes.txt").write_text("")
    assert predict.find_images([folder], limit=9) == [TextLine(folder / n) for n in ("a.JPG", "b.png", "c.bmp")]


def test_files_stay_where_they_are_named(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "in", "a.png", "b.png")
    other = folder_of(tmp_path / "other", "x.png")
    found = predict.find_images([other / "x.png", folder, folder / "a.png"], limit=9)
    assert [sample.path.name for sample in found] == ["x.png", "a.png", "b.png", "a.png"]
    assert [sample.path.name for sample in predict.find_images([folder], limit=1)] == ["a.png"]


def test_labels_give_the_truth_by_the_end_of_the_path(tmp_path: Path) -> None:
    """The longest end counts: two folders may hold files of one name."""
    folder = folder_of(tmp_path / "in", "a.png", "b.png", "c.png", "d.png")
    rows = ["a.png\ttwo words\u2028 more\r", "", "b.png\tno", "in/b.png\tyes", "out/c.png\tno"]
    labels = tmp_path / "gt.txt"
    labels.write_bytes("\n".join(["\ufeff" + rows[0], *rows[1:], f"{folder}/d.png\twhole path"]).encode())
    found = predict.find_images([folder], labels=labels)
    assert [sample.text for sample in found] == ["two words\u2028 more", "yes", "", "whole path"]


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(KitError, match=f"there is no image or folder {tmp_path}/no.png"):
        predict.find_images([tmp_path / "no.png"], limit=9)
    with pytest.raises(KitError, match=f"no images in {tmp_path}") as caught:
        predict.find_images([tmp_path], limit=9)
    assert ".png" in (caught.value.hint or "")
    write_image(tmp_path / "a.png", 0)
    for labels in (tmp_path / "no.txt", tmp_path / "a.png"):
        with pytest.raises(KitError, match=f"{labels}"):
            predict.find_images([tmp_path], labels=labels, limit=9)


@pytest.mark.parametrize("count", [1, BATCH, 2 * BATCH + 1])
def test_every_image_has_one_reading(loaded: Config, network: nn.Cell, tmp_path: Path, count: int) -> None:
    folder = folder_of(tmp_path, *(f"{n}.png" for n in range(count)))
    samples = predict.find_images([folder], limit=99)
    predictions = predict.read(loaded, network, samples)
    assert [prediction.path for prediction in predictions] == [sample.path for sample in samples]
    assert all(prediction.fault is None and prediction.truth is None for prediction in predictions)
    assert all(0 <= prediction.reading.confidence <= 1 for prediction in predictions)


@pytest.mark.parametrize("bad", [{1}, {4}, {0, 1, 2, 3}, {0, 1, 2, 3, 4}])
def test_a_damaged_image_is_named_and_the_others_are_read(
    loaded: Config, network: nn.Cell, tmp_path: Path, bad: set[int]
) -> None:
    """Also where it is the only one of its batch."""
    folder = folder_of(tmp_path, *(f"{n}.png" for n in range(BATCH + 1)))
    samples = predict.find_images([folder], limit=99)
    whole = predict.read(loaded, network, samples)
    for number in bad:
        (folder / f"{number}.png").write_bytes(b"damaged")
    predictions = predict.read(loaded, network, samples)
    assert [prediction.path for prediction in predictions] == [sample.path for sample in samples]
    assert {n for n, prediction in enumerate(predictions) if prediction.fault} == bad
    assert all("not an image" in (predictions[n].fault or "") for n in bad)
    for number in set(range(BATCH + 1)) - bad:
        assert predictions[number].reading.text == whole[number].reading.text
        assert predictions[number].reading.confidence == pytest.approx(whole[number].reading.confidence, rel=1e-4)


def test_the_picture_has_a_line_for_every_prediction(tmp_path: Path) -> None:
    folder_of(tmp_path, "a.png")
    (tmp_path / "b.png").write_bytes(b"damaged")
    predictions = [
        Prediction(tmp_path / "a.png", Reading("a", 0.5), "a"),
        Prediction(tmp_path / "b.png", Reading("", 0.0), None, "not an image"),
        Prediction(tmp_path / "gone.png", Reading("", 0.0), None, "No such file"),
    ]
    predict.write_picture(tmp_path / "out.png", predictions)
    image = cv2.imdecode(np.fromfile(tmp_path / "out.png", np.uint8), cv2.IMREAD_COLOR)
    assert image.shape[0] == 3 * picture.ROW


def test_a_picture_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(KitError, match=r"cannot write .*no/out\.png"):
        predict.write_picture(tmp_path / "no" / "out.png", [])
