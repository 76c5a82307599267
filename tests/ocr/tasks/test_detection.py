"""Detection: consistent parts of a configuration, usable pages, targets and scores."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import yaml

from hccl_kit.base.errors import KitError
from hccl_kit.ocr import config
from hccl_kit.ocr.config import Config, yaml_text
from hccl_kit.ocr.data.loader import Batch
from hccl_kit.ocr.data.pages.pages import Page, Shape, pad_polygons
from hccl_kit.ocr.data.pipeline import pipeline
from hccl_kit.ocr.decode.boxes import Box
from hccl_kit.ocr.drawing import HEADER
from hccl_kit.ocr.losses.pages import DBLoss
from hccl_kit.ocr.metrics.boxes import BoxCounts
from hccl_kit.ocr.tasks.detection import Detection
from tests.ocr.data.images import write_image
from tests.places import ROOT

CONFIG = ROOT / "configs" / "det" / "dbnet" / "db_r18_icdar15.yaml"
TEXT = [[20, 20], [120, 20], [120, 60], [20, 60]]


def loaded(**sections: Any) -> Config:
    """The shipped configuration with other sections."""
    shipped = config.load(CONFIG)
    return replace(shipped, values={**shipped.values, **sections})


def task(settings: Config | None = None) -> Detection:
    return Detection(settings or loaded())


def steps_of(section: str = "train") -> list[dict[str, Any]]:
    return [dict(step) for step in config.load(CONFIG)[section]["dataset"]["transform_pipeline"]]


def with_steps(steps: list[dict[str, Any]], section: str = "train") -> Config:
    rows = config.load(CONFIG)[section]
    return loaded(**{section: {**rows, "dataset": {**rows["dataset"], "transform_pipeline": steps}}})


def with_pages(root: Path, labels: list[str], section: str) -> Config:
    """A data set whose n-th image has the n-th line of regions."""
    for number in range(len(labels)):
        write_image(root / f"{number}.png", 128, height=80, width=140)
    text = "".join(f"{number}.png\t{label}\n" for number, label in enumerate(labels))
    (root / "det_gt.txt").write_text(text, encoding="utf-8")
    rows = config.load(CONFIG)[section]
    places = {"dataset_root": str(root), "data_dir": ".", "label_file": "det_gt.txt"}
    return loaded(**{section: {**rows, "dataset": {**rows["dataset"], **places}}})


def region(text: str = "one") -> str:
    return f'{{"transcription": "{text}", "points": {TEXT}}}'


def page(*polys: list[list[int]], ignored: tuple[int, ...] = (), shape: Shape | None = None) -> Page:
    flags = np.array([number in ignored for number in range(len(polys))], bool)
    return Page(Path("a.png"), None, pad_polygons(polys), ("x",) * len(polys), flags, shape)


def test_maps_are_in_the_order_of_the_loss_inputs() -> None:
    steps = steps_of()
    shrink, border = (next(step for step in steps if name in step) for name in ("ShrinkBinaryMap", "BorderMap"))
    rest = [step for step in steps if step not in (shrink, border)]
    for wrong, found in (
        ([border, shrink], "BorderMap, ShrinkBinaryMap"),
        ([shrink], "ShrinkBinaryMap"),
        ([], "none of them"),
    ):
        with pytest.raises(KitError, match=f"must have ShrinkBinaryMap and then BorderMap; found: {found}$"):
            task(with_steps(rest + wrong))


def test_parts_of_other_heads_are_refused() -> None:
    for part, name, own in (("loss", "PSEDiceLoss", "DBLoss"), ("postprocess", "EASTPostprocess", "DBPostprocess")):
        with pytest.raises(KitError, match=f"^{part}.name is {name}; DBHead needs {own}$"):
            task(loaded(**{part: {"name": name}}))


@pytest.mark.parametrize(
    ("config_name", "maps"), [("psenet/pse_r50", "PSEGtDecode"), ("east/east_r50", "EASTProcessTrain")]
)
def test_other_detectors_have_their_own_targets(config_name: str, maps: str) -> None:
    settings = config.load(ROOT / "configs" / "det" / f"{config_name}_icdar15.yaml")
    task(settings)
    rows = settings["train"]
    steps = [step for step in rows["dataset"]["transform_pipeline"] if maps not in step]
    without = {**rows, "dataset": {**rows["dataset"], "transform_pipeline": steps}}
    with pytest.raises(KitError, match=f"must have {maps}; found: none of them$"):
        task(replace(settings, values={**settings.values, "train": without}))


def test_the_number_of_target_kernels_matches_the_head() -> None:
    path = ROOT / "configs" / "det" / "psenet" / "pse_r50_icdar15.yaml"
    with pytest.raises(KitError, match=r"^model\.head\.out_channels is 5, and PSEGtDecode\.kernel_num 7$"):
        task(config.load(path, ["model.head.out_channels=5"]))


@pytest.mark.parametrize(
    "option", ["train.loader.bucket_widths=[64]", "train.loader.stretch=[0.8, 1.2]", "eval.loader.bucket_widths=[64]"]
)
def test_options_for_lines_are_refused(option: str) -> None:
    key = option.partition("=")[0]
    with pytest.raises(KitError, match=f"^{key} is for text recognition, and this is a detection$"):
        task(config.load(CONFIG, [option]))


def test_the_network_limits_the_sides_of_images() -> None:
    crop = {"RandomCropWithBBox": {"crop_size": [640, 650]}}
    with pytest.raises(KitError, match=r"RandomCropWithBBox\.crop_size is \[640, 650\]; .* multiples of 32$"):
        task(with_steps([crop if "RandomCropWithBBox" in step else step for step in steps_of()]))
    pad = {"ScalePadImage": {"target_size": [736, 100]}}
    with pytest.raises(KitError, match=r"^eval\..*: ScalePadImage\.target_size is \[736, 100\]"):
        task(with_steps([pad if "DetResize" in step else step for step in steps_of("eval")], "eval"))


def test_the_loss_has_the_options_of_the_configuration() -> None:
    options = {"eps": 1e-3, "l1_scale": 3, "bce_scale": 4, "bce_replace": "diceloss"}
    loss = task(loaded(loss={"name": "DBLoss", **options})).loss()
    assert isinstance(loss, DBLoss)
    assert (loss.eps, loss.l1_scale, loss.bce_scale) == (1e-3, 3, 4)


def test_unusable_pages_are_counted_and_named(tmp_path: Path) -> None:
    warnings: list[str] = []
    labels = [f"[{region()}]", "[]", "nonsense", f"[{region('###')}]"]
    usable, left_out = task(with_pages(tmp_path, labels, "train")).train_samples(warnings.append)
    assert [one.path.name for one in usable] == ["0.png", "3.png"]
    assert left_out == 2
    [warning] = warnings
    assert warning.startswith("2 of 4 pages are left out: ")
    assert "1.png: the page has no text region" in warning
    assert "2.png: the regions are not JSON" in warning


def test_evaluation_keeps_pages_without_text(tmp_path: Path) -> None:
    warnings: list[str] = []
    made = task(with_pages(tmp_path, [f"[{region()}]", "[]", "nonsense"], "eval"))
    assert [one.path.name for one in made.eval_samples(warnings.append)] == ["0.png", "1.png"]
    [warning] = warnings
    assert warning.startswith("evaluation: 1 of 3 pages are left out: ")


def test_an_evaluation_needs_a_text_that_is_not_ignored(tmp_path: Path) -> None:
    made = task(with_pages(tmp_path, [f"[{region('###')}]", "[]"], "eval"))
    with pytest.raises(KitError, match="no page of the evaluation has a text that is not ignored"):
        made.eval_samples(lambda _: None)


def test_files_are_converted_to_the_inputs_of_the_loss(tmp_path: Path) -> None:
    settings = with_pages(tmp_path, [f"[{region()}]"] * 2, "train")
    made = task(settings)
    samples, _ = made.train_samples(lambda _: None)
    transform = pipeline(settings["train"]["dataset"]["transform_pipeline"])
    rows = [transform(sample, np.random.default_rng(seed)) for seed, sample in enumerate(samples)]
    images, (kernels, mask, thresholds, border) = made.collate(rows)
    assert images.shape == (2, 3, 640, 640)
    assert kernels.shape == (2, 1, 640, 640)
    assert mask.shape == thresholds.shape == border.shape == (2, 640, 640)
    assert {array.dtype for array in (kernels, mask, thresholds, border)} == {np.dtype(np.float32)}
    assert kernels.any(axis=(1, 2, 3)).all()
    assert thresholds.max() == pytest.approx(0.7, abs=0.02)
    np.testing.assert_array_equal(kernels[:, 0] * border * mask, kernels[:, 0] * mask)


def test_an_unreadable_image_is_black_and_has_no_boxes() -> None:
    settings = loaded()
    made = task(settings)
    blank = made.blank(page(TEXT))
    transform = pipeline(settings["eval"]["dataset"]["transform_pipeline"], without=made.label_transforms)
    seen = transform(blank, np.random.default_rng(0))
    assert seen.image is not None
    assert seen.image.shape == (3, 736, 1280)
    assert made.count(seen, []) == BoxCounts(1, 0, 0)


def test_boxes_are_scored_in_pixels_of_the_source() -> None:
    """The source is twice as high and wide as the image; rows of `outputs` beyond the samples are padding."""
    made = task()
    outputs = np.zeros((2, 1, 96, 160), np.float32)
    cv2.fillPoly(outputs[0, 0], [np.array([[32, 32], [108, 32], [108, 48], [32, 48]])], 1)
    sample = page(TEXT, shape=Shape(192, 320, 0.5, 0.5))
    [boxes] = made.decode(outputs, [sample])
    assert len(boxes) == 1
    assert made.count(sample, boxes) == BoxCounts(1, 1, 0)
    assert (boxes[0].points == np.rint(boxes[0].points)).all()
    assert boxes[0].points.max() > 200
    assert made.mistake(sample, boxes) is None


def test_a_mistake_is_reported_in_one_line() -> None:
    made = task()
    off = Box(np.array(TEXT, np.float32) + 500, 0.9)
    right = Box(np.array(TEXT, np.float32), 0.9)
    assert made.mistake(page(TEXT), [right, off]) == "a.png\t1 of 1 found, 1 false: h-mean 66.67%"
    assert made.mistake(page(TEXT), []) == "a.png\t0 of 1 found, 0 false: h-mean 0.00%"
    assert made.mistake(page(TEXT, ignored=(0,)), []) is None


def test_duplicates_count_if_the_metric_is_configured_so() -> None:
    right = Box(np.array(TEXT, np.float32), 0.9)
    assert task().count(page(TEXT), [right, right]) == BoxCounts(1, 1, 0)
    settings = loaded(metric={"name": "DetMetric", "main_indicator": "f-score", "count_doubles": True})
    assert task(settings).count(page(TEXT), [right, right]) == BoxCounts(1, 1, 1)


def test_a_batch_is_drawn_in_natural_colours_with_its_kernels_and_borders() -> None:
    """An image with mean 0 after normalisation has the mean colour of ImageNet, more red than blue."""
    images = np.zeros((6, 3, 32, 64), np.float32)
    kernels, masks, thresholds, near = (np.zeros((6, 32, 64), np.float32) for _ in range(4))
    masks += 1
    masks[0, :, 32:] = 0
    kernels[1, 8:16, 8:16] = 1
    thresholds[2, 20, 20] = near[2, 20, 20] = 1
    drawn = task().picture(Batch(images, (kernels[:, None], masks, thresholds, near), ()))
    assert drawn.shape == (HEADER + 32, 4 * 64, 3)
    pages = drawn[HEADER:].reshape(32, 4, 64, 3).transpose(1, 0, 2, 3).astype(int)
    assert pages[0, 10, 10].tolist() == [104, 116, 124]
    assert pages[0, 10, 40].tolist() == [42, 46, 50], "ignored"
    assert pages[1, 10, 10].argmax() == 1, "a kernel is green"
    assert pages[2, 20, 20].argmax() == 2, "a border is red"


def test_a_page_is_drawn_in_image_coordinates() -> None:
    """The source is twice as large; the black border at the bottom and on the right is not shown."""
    small = np.array([[10, 70], [60, 70], [60, 85], [10, 85]])
    sample = replace(
        page(TEXT, small.tolist(), shape=Shape(192, 320, 0.5, 0.5)), image=np.zeros((3, 128, 192)), content=(96, 160)
    )
    right, false = (Box(2 * np.array(points, np.float32), 0.9) for points in (TEXT, small + np.array((80, 0))))
    drawn = task().comparison([(sample, [right, false]), (sample, [])])
    assert drawn.shape == (2 * HEADER + 96, 1280, 3)
    one, other = (drawn[2 * HEADER :, left : left + 160].astype(int) for left in (0, 640))
    assert one[20, 70].argmax() == 1, "found is green"
    assert one[70, 30].argmax() == 2, "missed is red"
    assert one[70, 110].argmax() == 0, "false is blue"
    assert other[20, 70].argmax() == 2
    assert (drawn[2 * HEADER :, 160:640] == 255).all()


@pytest.mark.parametrize(("fields", "largest"), [(["polys"], 88), (None, 44), ([], 44)])
def test_boxes_may_be_in_coordinates_of_the_resized_image(fields: list[str] | None, largest: int) -> None:
    post = config.load(CONFIG)["postprocess"]
    made = task(loaded(postprocess={**post, "rescale_fields": fields}))
    maps = np.zeros((1, 1, 64, 64), np.float32)
    maps[..., 25:40, 25:40] = 1
    page = Page(Path(), np.zeros((64, 64, 3), np.uint8), shape=Shape(128, 128, 0.5, 0.5))
    [[box]] = made.decode(maps, [page])
    assert box.points.max() == largest


def test_a_training_without_evaluation_needs_no_eval_section(tmp_path: Path) -> None:
    whole = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))
    rest = {name: section for name, section in whole.items() if name not in ("postprocess", "metric", "eval")}
    path = tmp_path / "a.yaml"
    path.write_text(yaml.safe_dump(rest), encoding="utf-8")
    with pytest.raises(KitError, match=f"{path}: postprocess, metric, eval are missing"):
        config.load(path)
    alone = config.load(path, ["system.val_while_train=False"])
    assert task(alone).rescales
    assert "eval" not in alone
    with pytest.raises(KitError, match=f"{path} has no section eval"):
        alone["eval"]
    path.write_text(yaml.safe_dump({**rest, "metric": whole["metric"]}), encoding="utf-8")
    with pytest.raises(KitError, match="postprocess, eval are missing"):
        config.load(path, ["system.val_while_train=False"])


@pytest.mark.parametrize("section", ["train", "eval"])
def test_decoding_is_added_if_no_transform_reads_the_image(section: str, tmp_path: Path) -> None:
    steps = [step for step in steps_of(section) if "DecodeImage" not in step]
    values = config.load(CONFIG).values
    values[section]["dataset"]["transform_pipeline"] = steps
    (tmp_path / "a.yaml").write_text(yaml_text.dump(values), encoding="utf-8")
    found = config.load(tmp_path / "a.yaml")[section]["dataset"]["transform_pipeline"]
    assert found == [{"Decode": None}, *steps]
    assert config.load(CONFIG)[section]["dataset"]["transform_pipeline"] == steps_of(section)
