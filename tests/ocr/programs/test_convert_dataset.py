"""tools/convert_dataset.py: the trainer reads what it writes."""

import json
import subprocess
from pathlib import Path

import cv2
import numpy as np
import pytest

from hccl_kit.base.wording import counted
from hccl_kit.ocr.data.pages.page_labels import read_pages
from hccl_kit.ocr.data.pages.pages import pad_polygons
from hccl_kit.ocr.data.published.sets import PAGE_SETS
from hccl_kit.ocr.data.samples import read_labels
from hccl_kit.ocr.programs.convert_dataset import main
from tests.ocr.data.images import write_image
from tests.ocr.data.published.forms import FORMS, QUAD, cute80_words, flat, iiit5k
from tests.ocr.run_tool import refusals
from tests.program import kit

ROWS = "\ufeff10,10,50,10,50,20,10,20,one, two\r\n60,12,60,22,20,22.5,20,12,###\r\n5,30,9,30,9,58,5,58,***\r\n"


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """A data set in its published format: two pages, one of which has no labels."""
    for name in ("images", "gt"):
        (tmp_path / name).mkdir()
    for number in (1, 2):
        write_image(tmp_path / "images" / f"img_{number}.jpg", 40 * number, height=60, width=90)
    (tmp_path / "gt" / "gt_img_1.txt").write_bytes(ROWS.encode())
    return tmp_path


def convert(root: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return kit("convert-dataset", "--image_dir", f"{root}/images", "--label_dir", f"{root}/gt", *options, cwd=root)


def test_the_det_gt_file_is_equivalent_to_the_folders(published: Path) -> None:
    done = convert(published)
    assert done.returncode == 0, done.stderr
    output = published / "images_det_gt.txt"
    first, step = done.stdout.splitlines()
    assert first == f"1 page, 1 left out: {output}"
    keys = f"dataset_root: .  data_dir: {published / 'images'}  label_file: {output}"
    assert step == f"next: in train.dataset or eval.dataset of a configuration: {keys}"
    assert "warning: left out: " in done.stderr
    assert "img_2.jpg" in done.stderr
    assert "[20, 22.5]" in output.read_text(encoding="utf-8")
    root = {"dataset_root": str(published), "data_dir": "images"}
    [folder], [converted] = (read_pages(root | {"label_file": label})[0] for label in ("gt", output.name))
    assert (folder.path, folder.texts) == (converted.path, converted.texts)
    np.testing.assert_array_equal(folder.polys, converted.polys)


def test_texts_of_stars_in_sroie_are_illegible(published: Path) -> None:
    done = convert(published, "--dataset_name", "sroie", "--path_mode", "abs", "--output_path", f"{published}/gt.txt")
    assert done.returncode == 0, done.stderr
    root = {"dataset_root": "/", "data_dir": ".", "label_file": str(published / "gt.txt")}
    [page], _ = read_pages(root)
    assert page.path == published / "images" / "img_1.jpg"
    assert page.texts == ("one, two", "###", "###")


def test_rec_crops_the_legible_lines(published: Path) -> None:
    done = convert(published, "--task", "rec", "-d", "sroie", "-o", str(published / "rec_gt.txt"))
    assert done.returncode == 0, done.stderr
    assert read_labels(published / "rec_gt.txt") == [("rec_gt/img_1_001.png", "one, two")]
    line = cv2.imread(str(published / "rec_gt" / "img_1_001.png"))
    assert line.shape == (10, 40, 3)
    assert (line == 40).all()


def test_cls_rotates_every_line(published: Path) -> None:
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


@pytest.mark.parametrize("task", ["rec", "cls"])
def test_a_page_with_the_longest_name_is_cut_too(published: Path, task: str) -> None:
    """Such a name has no room for the number of a line; the conversion of all pages ended there."""
    stem = "é" * 125
    (published / "images" / "img_2.jpg").rename(published / "images" / f"{stem}.jpg")
    (published / "gt" / f"{stem}.txt").write_text("10,10,50,10,50,20,10,20,long\n")
    done = convert(published, "--task", task, "-d", "sroie", "-o", str(published / "lines.txt"))
    assert done.returncode == 0, done.stderr
    rows = read_labels(published / "lines.txt")
    assert len(rows) == (2 if task == "rec" else 4)
    assert all((published / name).is_file() for name, _ in rows)


def test_the_word_list_of_icdar_2015_is_converted(tmp_path: Path) -> None:
    (tmp_path / "gt.txt").write_text(
        '\ufeffword_1.png, "Genaxis Theatre"\nword_2.png, "a, "b""\n'
        'broken\n../a.png, "x"\n/a.png, "x"\na.png, "\x1b"\n',
        encoding="utf-8",
    )
    done = kit("convert-dataset", "--task", "rec", "--label_dir", "gt.txt", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert read_labels(tmp_path / "rec_gt.txt") == [("word_1.png", "Genaxis Theatre"), ("word_2.png", 'a, "b"')]
    assert "gt.txt:3: expected word_1.png" in done.stderr
    for line, name in ((4, "../a.png"), (5, "/a.png")):
        assert f"gt.txt:{line}: the image '{name}' is not in ." in done.stderr
    assert "gt.txt:6: control characters in the text" in done.stderr


def test_invalid_input_is_reported(published: Path) -> None:
    (published / "gt" / "gt_img_1.txt").write_text("nonsense", encoding="utf-8")
    wrong = convert(published)
    assert wrong.returncode == 2
    assert "can be used; the first: " in wrong.stderr
    assert "line 1: expected x1,y1" in wrong.stderr
    assert not (published / "images_det_gt.txt").exists()


REFUSED = [
    (["-l", "gt"], "--image_dir is missing, the folder of the pages that gt labels", "add -i FOLDER"),
    (["-l", "gt", "-i", "no"], "--image_dir no is not a folder", "name the folder of the pages"),
    (["-l", "gt", "-d", "cocotext"], "--dataset_name cocotext: this release", "cocotext-train or cocotext-val?"),
    (["-l", "gt", "-d", "rects"], "this release does not convert this data set; accepted: ic15, ", "path TAB JSON"),
    (["-l", "no", "-i", "images"], "--label_dir no does not exist", "name a folder"),
    (["-l", "images/img_1.jpg", "-i", "images"], "--label_dir images/img_1.jpg is not a folder", "only the word"),
    (["-l", "gt", "-i", "images", "-o", "new/gt.txt"], "the folder new does not exist", "mkdir -p new"),
    (["-l", "gt", "-i", "images", "-o", "/"], "--output_path: / is a folder", "name a file to write"),
    (["-l", "gt", "-i", "images", "-t", "rec", "-o", "rec"], "the name of the images' folder too", "rec.txt"),
    (["-l", "gt", "-i", "images", "-o", "mine.txt"], "mine.txt already exists", "--force overwrites it"),
    (["-l", "gt", "-i", "images", "-t", "cls", "-o", "images.txt"], "images already exists", "--force"),
]


def test_an_invalid_command_is_refused_before_the_conversion(published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(published)
    Path("mine.txt").write_text("mine")
    before = sorted(published.rglob("*"))
    commands = [("convert_dataset", *options) for options, _, _ in REFUSED]
    for (_, message, hint), errors in zip(REFUSED, refusals(*commands, heavy=["cv2"]), strict=True):
        error, fix = errors.split("error: ")[1].split("\n  fix: ")
        assert message in error
        assert hint in fix
    assert sorted(published.rglob("*")) == before
    assert Path("mine.txt").read_text() == "mine"


def test_existing_files_are_overwritten_with_force(published: Path) -> None:
    output = published / "rec_gt.txt"
    for options in ((), ("--force",)):
        done = convert(published, "--task", "rec", "-d", "sroie", "-o", str(output), *options)
        assert done.returncode == 0, done.stderr
    assert convert(published, "--task", "rec", "-d", "sroie", "-o", str(output)).returncode == 2
    assert read_labels(output) == [("rec_gt/img_1_001.png", "one, two")]


def test_if_no_line_can_be_cropped_no_file_is_left(published: Path) -> None:
    """The page has labels, but its image is damaged."""
    (published / "images" / "img_1.jpg").write_bytes(b"damaged")
    before = sorted(published.rglob("*"))
    done = convert(published, "--task", "rec", "-d", "sroie", "-o", str(published / "rec_gt.txt"))
    assert done.returncode == 2
    assert "not an image that OpenCV reads" in done.stderr
    assert sorted(published.rglob("*")) == before


@pytest.mark.parametrize("name", ["img_\udcff", "img_\t1", "img_\x1b[2J"])
@pytest.mark.parametrize("task", ["det", "rec"])
def test_a_name_that_a_label_file_cannot_represent_is_skipped(published: Path, name: str, task: str) -> None:
    """It is not valid text, contains the field separator, or has control characters."""
    (published / "images" / "img_2.jpg").rename(published / "images" / f"{name}.jpg")
    (published / "gt" / f"gt_{name}.txt").write_bytes(ROWS.encode())
    done = convert(published, "--task", task, "-o", str(published / "out.txt"))
    assert done.returncode == 0, done.stderr
    assert "a label file cannot name it" in done.stderr
    assert "\x1b" not in done.stderr
    assert name not in (published / "out.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [name for name in sorted(FORMS) if "det" in PAGE_SETS[name].tasks])
def test_the_label_file_of_a_published_set_is_read_by_the_trainer(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make, expected = FORMS[name]
    labels, images = make(tmp_path)
    output = tmp_path / "det_gt.txt"
    assert main(["-d", name, "-i", str(images), "-l", str(labels), "-o", str(output)]) == 0
    assert capsys.readouterr().out.splitlines()[0] == f"{counted(len(expected), 'page')}: {output}"
    pages, bad = read_pages({"dataset_root": str(images), "data_dir": ".", "label_file": str(output)})
    assert bad == []
    assert {page.path.relative_to(images).as_posix(): list(page.texts) for page in pages} == {
        name: [text for text, _ in regions] for name, regions in expected.items()
    }
    for page in pages:
        points = [np.array(points) for _, points in expected[page.path.relative_to(images).as_posix()]]
        np.testing.assert_array_equal(page.polys, pad_polygons(points))


@pytest.mark.parametrize("name", [name for name in sorted(FORMS) if "rec" in PAGE_SETS[name].tasks])
def test_the_lines_of_a_published_set_are_cropped(name: str, tmp_path: Path) -> None:
    make, expected = FORMS[name]
    labels, images = make(tmp_path)
    output = tmp_path / "rec_gt.txt"
    assert main(["-d", name, "-t", "rec", "-i", str(images), "-l", str(labels), "-o", str(output)]) == 0
    texts = [text for regions in expected.values() for text, _ in regions if text != "###"]
    rows = read_labels(output)
    assert sorted(text for _, text in rows) == sorted(texts)
    assert len({image for image, _ in rows}) == len(rows)
    for image, _ in rows:
        line = cv2.imread(str(tmp_path / image))
        assert line.shape in {(10, 40, 3), (15, 40, 3), (13, 60, 3)}
        assert (line == 80).all()


def test_a_curved_line_is_cropped_along_the_smallest_box(tmp_path: Path) -> None:
    """The crop starts at the upper left; a line with four corners starts at its first one, here the lower right."""
    labels, images = FORMS["ctw1500"][0](tmp_path)
    page = np.zeros((60, 90, 3), np.uint8)
    page[:, :40] = 200
    cv2.imwrite(str(images / "1001.png"), page)
    (images / "1001.jpg").unlink()
    with (labels / "0001001.txt").open("a") as rows:
        rows.write(f"{flat(QUAD[2:] + QUAD[:2])},####short\n")
    output = tmp_path / "rec_gt.txt"
    assert main(["-d", "ctw1500", "-t", "rec", "-i", str(images), "-l", str(labels), "-o", str(output)]) == 0
    shapes = {text: cv2.imread(str(tmp_path / name)) for name, text in read_labels(output)}
    assert shapes["Latin 9"].shape == (13, 60, 3)
    assert shapes["short"].shape == (10, 40, 3)
    assert shapes["Latin 9"][:, :25].min() == 200
    assert shapes["Latin 9"][:, 35:].max() == 0
    assert shapes["short"][:, :8].max() == 0
    assert shapes["short"][:, 13:].min() == 200


def test_invalid_rows_are_named_and_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels, images = FORMS["mlt2017"][0](tmp_path)
    label = labels / "gt_img_1.txt"
    with label.open("a", encoding="utf-8") as rows:
        rows.write(f"{flat(QUAD)},Latin,\n")
    (labels / "gt_img_2.txt").write_text("1,2\n")
    output = tmp_path / "det_gt.txt"
    assert main(["-d", "mlt2017", "-i", str(images), "-l", str(labels), "-o", str(output)]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[0] == f"1 page, 3 left out: {output}"
    assert f"warning: left out: {label}:3: text is missing or blank: ''" in err
    assert f"warning: left out: {labels / 'gt_img_2.txt'}:1: expected x1,y1" in err
    assert f"warning: left out: {images / 'img_2.jpg'}: none of its regions can be used" in err


def test_words_that_are_already_cropped_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels, images = iiit5k(tmp_path, ("train/1_1.png", "YOU"), ("train/1_2.png", "CAN"), ("train/9.png", "?"))
    assert main(["-d", "iiit5k", "-t", "rec", "-l", str(labels)]) == 0
    first, step = capsys.readouterr().out.splitlines()
    assert first == f"2 lines, 1 left out: {tmp_path / 'rec_gt.txt'}"
    assert f"data_dir: {tmp_path}  label_file: {tmp_path / 'rec_gt.txt'}" in step
    assert read_labels(tmp_path / "rec_gt.txt") == [("train/1_1.png", "YOU"), ("train/1_2.png", "CAN")]
    absolute = tmp_path / "abs.txt"
    options = ["-i", str(images), "--path_mode", "abs", "-o", str(absolute)]
    assert main(["-d", "iiit5k", "-t", "rec", "-l", str(labels), *options]) == 0
    assert read_labels(absolute)[0] == (str(tmp_path / "train" / "1_1.png"), "YOU")


def test_a_set_may_have_pages_and_a_list_of_words(tmp_path: Path) -> None:
    labels, images = FORMS["cute80"][0](tmp_path)
    assert main(["-d", "cute80", "-i", str(images), "-l", str(labels)]) == 0
    assert (tmp_path / "CUTE80_det_gt.txt").read_text().count('"transcription": ""') == 3
    listed, _ = cute80_words(tmp_path, "timage/001.jpg RONALDO 1 RONALDO")
    assert main(["-d", "cute80", "-t", "rec", "-l", str(listed)]) == 0
    assert read_labels(tmp_path / "rec_gt.txt") == [("timage/001.jpg", "RONALDO")]


def test_pages_with_the_same_name_have_separate_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels, images = FORMS["lsvt"][0](tmp_path)
    region = {"transcription": "a", "points": QUAD, "illegibility": False}
    places = ["a/b", "c/b", "a_b"]
    for place in places:
        (images / place).parent.mkdir(exist_ok=True)
        (images / f"{place}.jpg").write_bytes((images / "gt_0.jpg").read_bytes())
    labels.write_text(json.dumps({place: [region] for place in places}))
    output = tmp_path / "rec_gt.txt"
    assert main(["-d", "lsvt", "-t", "rec", "-i", str(images), "-l", str(labels), "-o", str(output)]) == 0
    assert [name for name, _ in read_labels(output)] == ["rec_gt/a_b_001.png", "rec_gt/c_b_001.png"]
    assert "a_b.jpg: another image yields the same file names a_b_001.png, ..." in capsys.readouterr().err


def test_an_image_outside_the_folder_in_synthtext_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels, images = FORMS["synthtext"][0](tmp_path)
    inner = images / "8"
    (inner / "8").mkdir()
    assert main(["-d", "synthtext", "-i", str(inner), "-l", str(labels)]) == 2
    assert f"{inner} has no such image" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        (["-d", "td500", "-t", "rec"], "td500 has no labels for --task rec", "--task det"),
        (["-d", "iiit5k"], "iiit5k has no labels for --task det", "--task rec"),
        (["-d", "cute80", "-t", "cls"], "cute80 has no labels for --task cls", "--task det or rec"),
        (["-d", "docile-fields"], "docile-fields has no labels for --task det", "--task rec or cls"),
        (["-d", "iiit5k", "-t", "rec"], "cannot read gt: Is a directory", ""),
        (["-d", "textocr"], "gt is not a file", "see the table of sets in docs/train.md"),
        (["-d", "ccpd", "-l", "no"], "no does not exist", "name a folder or a file"),
    ],
)
def test_a_set_that_does_not_support_the_command_is_refused(
    published: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    options: list[str], message: str, hint: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(published)
    assert main(["-l", "gt", "-i", "images", *options]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert hint in err
