"""tools/convert_dataset.py: what it writes is what the trainer reads."""

import subprocess
from pathlib import Path

import cv2
import numpy as np
import pytest

from hccl_kit.ocr.data.pages.page_labels import read_pages
from hccl_kit.ocr.data.samples import read_labels
from tests.ocr.run_tool import tool

ROWS = "\ufeff10,10,50,10,50,20,10,20,one, two\r\n60,12,60,22,20,22.5,20,12,###\r\n5,30,9,30,9,58,5,58,***\r\n"


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """A set as it is published: two pages, one of which has no labels."""
    for name in ("images", "gt"):
        (tmp_path / name).mkdir()
    for number in (1, 2):
        done, data = cv2.imencode(".png", np.full((60, 90, 3), 40 * number, np.uint8))
        assert done
        (tmp_path / "images" / f"img_{number}.jpg").write_bytes(data.tobytes())
    (tmp_path / "gt" / "gt_img_1.txt").write_bytes(ROWS.encode())
    return tmp_path


def convert(root: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return tool("convert_dataset", "--image_dir", root / "images", "--label_dir", root / "gt", *options)


def test_det_gt_is_what_the_folders_are(published: Path) -> None:
    done = convert(published)
    assert done.returncode == 0, done.stderr
    output = published / "images_det_gt.txt"
    assert done.stdout == f"1 pages, 1 left out: {output}\n"
    assert "warning: left out: " in done.stderr
    assert "img_2.jpg" in done.stderr
    assert "[20, 22.5]" in output.read_text(encoding="utf-8")
    root = {"dataset_root": str(published), "data_dir": "images"}
    [folder], [converted] = (read_pages(root | {"label_file": label})[0] for label in ("gt", output.name))
    assert (folder.path, folder.texts) == (converted.path, converted.texts)
    np.testing.assert_array_equal(folder.polys, converted.polys)


def test_sroie_hides_texts_by_stars(published: Path) -> None:
    done = convert(published, "--dataset_name", "sroie", "--path_mode", "abs", "--output_path", f"{published}/gt.txt")
    assert done.returncode == 0, done.stderr
    root = {"dataset_root": "/", "data_dir": ".", "label_file": str(published / "gt.txt")}
    [page], _ = read_pages(root)
    assert page.path == published / "images" / "img_1.jpg"
    assert page.texts == ("one, two", "###", "###")


def test_rec_cuts_the_readable_lines(published: Path) -> None:
    done = convert(published, "--task", "rec", "-d", "sroie", "-o", str(published / "rec_gt.txt"))
    assert done.returncode == 0, done.stderr
    assert read_labels(published / "rec_gt.txt") == [("rec_gt/img_1_001.png", "one, two")]
    line = cv2.imread(str(published / "rec_gt" / "img_1_001.png"))
    assert line.shape == (10, 40, 3)
    assert (line == 40).all()


def test_cls_turns_every_line(published: Path) -> None:
    page = np.zeros((60, 90, 3), np.uint8)
    page[10:20, 10:30] = 255  # the left half of the first line
    cv2.imwrite(str(published / "images" / "img_1.png"), page)
    (published / "images" / "img_1.jpg").unlink()
    done = convert(published, "--task", "cls", "-d", "sroie", "-o", str(published / "cls_gt.txt"))
    assert done.returncode == 0, done.stderr
    rows = read_labels(published / "cls_gt.txt")
    assert rows == [("cls_gt/img_1_001_0.png", "0"), ("cls_gt/img_1_001_180.png", "180")]
    line, turned = (cv2.imread(str(published / name)) for name, _ in rows)
    assert line[:, :15].min() == 255
    np.testing.assert_array_equal(line[::-1, ::-1], turned)


def test_the_word_list_of_ic15_is_taken(tmp_path: Path) -> None:
    (tmp_path / "gt.txt").write_text(
        '\ufeffword_1.png, "Genaxis Theatre"\nword_2.png, "a, "b""\nbroken\n', encoding="utf-8"
    )
    done = tool("convert_dataset", "--task", "rec", "--label_dir", tmp_path / "gt.txt")
    assert done.returncode == 0, done.stderr
    assert read_labels(tmp_path / "rec_gt.txt") == [("word_1.png", "Genaxis Theatre"), ("word_2.png", 'a, "b"')]
    assert f"{tmp_path / 'gt.txt'}:3: expected word_1.png" in done.stderr


def test_what_cannot_be_converted_is_reported(published: Path) -> None:
    (published / "gt" / "gt_img_1.txt").write_text("nonsense", encoding="utf-8")
    wrong = convert(published)
    assert wrong.returncode == 2
    assert "can be used; the first: " in wrong.stderr
    assert "line 1: expected x1,y1" in wrong.stderr
    assert not (published / "images_det_gt.txt").exists()


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        (["-l", "gt"], "--image_dir is missing, the folder of the pages that gt labels", "add -i FOLDER"),
        (["-l", "gt", "-i", "no"], "--image_dir no is not a folder", "name the folder of the pages"),
        (["-l", "no", "-i", "images"], "--label_dir no is not a folder", "only the word list of ic15 is a file"),
        (
            ["-l", "gt", "-i", "images", "-o", "new/deep/gt.txt"],
            "the folder new/deep does not exist",
            "mkdir -p new/deep",
        ),
        (["-l", "gt", "-i", "images", "-o", "/"], "--output_path: / is a folder", "name a file to write"),
        (["-l", "gt", "-i", "images", "-t", "rec", "-o", "rec"], "the name of the images' folder too", "rec.txt"),
        (["-l", "gt", "-i", "images", "-o", "mine.txt"], "mine.txt already exists", "--force overwrites it"),
        (["-l", "gt", "-i", "images", "-t", "cls", "-o", "images.txt"], "images already exists", "--force"),
    ],
)
def test_a_wrong_command_is_refused_before_the_work(
    published: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], message: str, hint: str
) -> None:
    monkeypatch.chdir(published)
    Path("mine.txt").write_text("mine")
    before = sorted(published.rglob("*"))
    done = tool("convert_dataset", *options, python=("-X", "importtime"))
    assert done.returncode == 2
    error, fix = done.stderr.split("error: ")[1].split("\n  fix: ")
    assert message in error
    assert hint in fix
    assert "| cv2" not in done.stderr
    assert sorted(published.rglob("*")) == before
    assert Path("mine.txt").read_text() == "mine"


def test_existing_files_are_overwritten_on_request(published: Path) -> None:
    output = published / "rec_gt.txt"
    for options in ((), ("--force",)):
        done = convert(published, "--task", "rec", "-d", "sroie", "-o", str(output), *options)
        assert done.returncode == 0, done.stderr
    assert convert(published, "--task", "rec", "-d", "sroie", "-o", str(output)).returncode == 2
    assert read_labels(output) == [("rec_gt/img_1_001.png", "one, two")]


def test_lines_that_cannot_be_cut_leave_nothing(published: Path) -> None:
    """The page has labels, and its image is damaged."""
    (published / "images" / "img_1.jpg").write_bytes(b"damaged")
    before = sorted(published.rglob("*"))
    done = convert(published, "--task", "rec", "-d", "sroie", "-o", str(published / "rec_gt.txt"))
    assert done.returncode == 2
    assert "not an image that OpenCV reads" in done.stderr
    assert sorted(published.rglob("*")) == before


@pytest.mark.parametrize("name", ["img_\udcff", "img_\t1", "img_\x1b[2J"])
@pytest.mark.parametrize("task", ["det", "rec"])
def test_a_name_that_no_label_file_holds_is_left_out(published: Path, name: str, task: str) -> None:
    """It is no text, or would end the field or move the cursor of a screen."""
    (published / "images" / "img_2.jpg").rename(published / "images" / f"{name}.jpg")
    (published / "gt" / f"gt_{name}.txt").write_bytes(ROWS.encode())
    done = convert(published, "--task", task, "-o", str(published / "out.txt"))
    assert done.returncode == 0, done.stderr
    assert "a label file cannot name it" in done.stderr
    assert "\x1b" not in done.stderr
    assert name not in (published / "out.txt").read_text(encoding="utf-8")
