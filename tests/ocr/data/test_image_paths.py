"""Label files and images of pages, paired by their names."""

from pathlib import Path

from hccl_kit.ocr.data.image_paths import pairs


def test_files_of_the_same_page_are_named(tmp_path: Path) -> None:
    """An image or a label file that another one replaces is not left out in silence."""
    for name in ("a.jpg", "a.png", "a.txt", "gt_a.txt"):
        (tmp_path / name).touch()
    first, second, pair = pairs(tmp_path, tmp_path, [".txt"], lambda stem: stem.removeprefix("gt_"))
    assert first == f"{tmp_path}/a.jpg: {tmp_path}/a.png is of the same page, and is taken"
    assert second == f"{tmp_path}/a.txt: {tmp_path}/gt_a.txt is of the same page, and is taken"
    assert pair == (tmp_path / "gt_a.txt", tmp_path / "a.png")
