"""Classification: consistent parts of a configuration, targets, and scores."""

from pathlib import Path

import numpy as np
import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.ocr import config
from hccl_kit.ocr.data.loader import Batch
from hccl_kit.ocr.data.samples import TextLine
from hccl_kit.ocr.decode.reading import Reading
from hccl_kit.ocr.drawing import HEADER
from hccl_kit.ocr.metrics.lines import ClassCounts
from hccl_kit.ocr.tasks.classification import Classification
from tests.places import ROOT

CONFIG = ROOT / "configs" / "cls" / "mobilenetv3" / "cls_mv3.yaml"


def task(*options: str) -> Classification:
    return Classification(config.load(CONFIG, options))


def test_the_class_names_are_those_of_the_configuration() -> None:
    assert task().labels == ("0", "180")
    four = task("common.label_list=['0', '90', '180', '270']", "common.num_classes=4")
    assert four.labels == ("0", "90", "180", "270")
    assert four.dictionary != task().dictionary


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("model.head.num_classes=3", "num_classes is 3, and postprocess.label_list has 2 names"),
        ("postprocess.label_list=['180', '0']", "ClsLabelEncode and postprocess have different label_lists"),
        ("train.dataset.transform_pipeline=[{DecodeImage: null}]", "lacks ClsLabelEncode"),
        ("train.loader.stretch=[0.8, 1.2]", "stretch is for text recognition, and this is a classification"),
    ],
)
def test_inconsistent_parts_are_refused(option: str, expected: str) -> None:
    with pytest.raises(KitError, match=expected):
        task(option)


def samples(root: Path, *labels: str) -> tuple[list[str], int, list[str]]:
    (root / "gt.txt").write_text("".join(f"{number}.png\t{label}\n" for number, label in enumerate(labels)))
    said: list[str] = []
    made = task(f"train.dataset.dataset_root={root}", "train.dataset.data_dir=.", "train.dataset.label_file=gt.txt")
    known, left_out = made.train_samples(said.append)
    return [line.text for line in known], left_out, said


def test_lines_with_an_unknown_class_are_counted_and_named(tmp_path: Path) -> None:
    known, left_out, [said] = samples(tmp_path, "0", "90", "180", "0 ")
    assert (known, left_out) == (["0", "180"], 2)
    assert said == f"2 of 4 labels are left out: {tmp_path / '1.png'}: '90'"
    assert samples(tmp_path, "0", "0")[1:] == (0, [])
    with pytest.raises(KitError, match="no label is one of 0, 180; the first is 'up'"):
        samples(tmp_path, "up")


def test_targets_are_class_indices() -> None:
    rows = [TextLine(Path(), np.zeros((3, 48, 192), np.float32), label=(number,)) for number in (1, 0, 1)]
    images, targets = task().collate(rows)
    assert images.shape == (3, 3, 48, 192)
    assert [one.tolist() for one in targets] == [[1, 0, 1]]
    drawn = task().picture(Batch(images, targets, tuple(rows)))
    first, second, third = np.vsplit(drawn[HEADER:], 3)
    assert np.array_equal(first, third)
    assert not np.array_equal(first, second)


def test_the_most_likely_class_is_the_result() -> None:
    made = task()
    sample = TextLine(Path("a.png"), text="180")
    found = made.decode(np.array([[0.3, 0.7], [0.9, 0.1], [0.5, 0.5]], np.float32), [sample] * 2)
    assert [reading.text for reading in found] == ["180", "0"]
    assert [reading.confidence for reading in found] == pytest.approx([0.7, 0.9])
    assert [made.count(sample, reading) for reading in found] == [ClassCounts(1, 1), ClassCounts(1, 0)]
    assert [made.mistake(sample, reading) for reading in found] == [None, "a.png\t180\t0"]
    assert made.mistake(sample, Reading("180", 0.1)) is None


def test_counts_add_up_over_ranks() -> None:
    both = ClassCounts(140, 136) + ClassCounts(60, 60)
    assert ClassCounts.from_array(both.to_array()) == both
    assert str(ClassCounts(140, 136)) == "136 of 140 images right (97.14%); standard error 1.41%"
    error = pytest.approx(0.0099, rel=1e-2)
    assert both.row() == {"images": 200, "right": 196, "accuracy": 0.98, "standard_error": error}
    assert both.score("acc") == 0.98
    assert ClassCounts().accuracy == 0
