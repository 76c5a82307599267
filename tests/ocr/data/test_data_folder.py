"""-o data=FOLDER: labels, image folders, an automatic split, and sizes that follow from the labels."""

from pathlib import Path

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data.data_folder import line_width
from hccl_kit.ocr.run.inputs import load
from tests.ocr.run_tool import CONFIG
from tests.places import ROOT

LINES = ROOT / "configs" / "rec" / "ppocr" / "v6_small_lines.yaml"


def folder(root: Path, labels: dict[str, list[str]], images: str = ".") -> Path:
    for name, texts in labels.items():
        (root / images).mkdir(parents=True, exist_ok=True)
        (root / images / "0.png").touch()
        (root / name).write_text("".join(f"{number}.png\t{text}\n" for number, text in enumerate(texts)))
    return root


def test_one_file_of_labels_is_divided(tmp_path: Path) -> None:
    made = load(LINES, [f"data={folder(tmp_path / 'my: lines', {'labels.txt': ['a b', 'c']})}"])
    train, test = (made[section]["dataset"] for section in ("train", "eval"))
    for dataset in (train, test):
        assert (dataset["dataset_root"], dataset["label_file"]) == (str(tmp_path / "my: lines"), "labels.txt")
        assert dataset["data_dir"] == "."
    assert (train["split"], test["split"]) == ([0, 0.8], [0.8, 1])
    assert made["train"]["validation"] == 0.1


def test_two_files_of_labels_are_used_as_they_are(tmp_path: Path) -> None:
    folder(tmp_path, {"train_gt.txt": ["a"]}, "train")
    made = load(CONFIG, [f"data={folder(tmp_path, {'test_gt.txt': ['b']}, 'test')}", "train.validation=0"])
    train, test = (made[section]["dataset"] for section in ("train", "eval"))
    assert [(part["label_file"], part["data_dir"], part["split"]) for part in (train, test)] == [
        ("train_gt.txt", "train", None),
        ("test_gt.txt", "test", None),
    ]
    assert made["train"]["validation"] == 0, "a key that is given with it"


@pytest.mark.parametrize(
    ("text", "width", "longest"), [("short", 320, 5), ("x" * 25, 640, 25), ("发票" * 10, 960, 20), ("x" * 90, 1280, 90)]
)
def test_the_labels_choose_width_and_length(tmp_path: Path, text: str, width: int, longest: int) -> None:
    made = load(LINES, [f"data={folder(tmp_path, {'gt.txt': ['a', text]})}"])
    for section in ("train", "eval"):
        transforms = dict(made.transforms(section))
        assert transforms["RecResizeNormForInfer"]["target_width"] == width == line_width([text])
        assert transforms["RecCTCLabelEncode"]["max_text_len"] == longest


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({}, "expected one file of labels, NAME.txt, or train_gt.txt and test_gt.txt; it has no .txt file"),
        ({"a.txt": ["a"], "b.txt": ["b"]}, "it has a.txt, b.txt"),
    ],
)
def test_a_folder_without_its_labels_is_refused(tmp_path: Path, labels: dict[str, list[str]], message: str) -> None:
    with pytest.raises(KitError, match=message) as refused:
        load(LINES, [f"data={folder(tmp_path, labels)}"])
    assert "path TAB text" in str(refused.value.hint)


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(KitError, match=rf"-o data={tmp_path}/none: there is no folder of this name"):
        load(LINES, [f"data={tmp_path}/none"])


def test_labels_without_their_images_are_refused(tmp_path: Path) -> None:
    folder(tmp_path, {"gt.txt": ["a"]})
    (tmp_path / "0.png").unlink()
    with pytest.raises(KitError, match=r"there is no image 0.png in .*, the first that gt.txt names"):
        load(LINES, [f"data={tmp_path}"])
