"""Sources of lines: several label files, a share of each, and disjoint splits."""

from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data.lines.line_sources import Lines, read_lines
from hccl_kit.ocr.data.samples import TextLine, sources
from tests.ocr.data.lines.test_lmdb_lines import base


def section(root: Path, **more: Any) -> dict[str, Any]:
    """Two label files of 6 and 4 lines over two folders."""
    for name, count in (("a", 6), ("b", 4)):
        (root / name).mkdir(exist_ok=True)
        (root / f"{name}.txt").write_text("".join(f"{n}.png\t{name}{n}\n" for n in range(count)))
    places = {"label_file": ["a.txt", "b.txt"], "data_dir": ["a", "b"]}
    return {"type": "RecDataset", "dataset_root": str(root), **places, **more}


def texts(dataset: dict[str, Any]) -> list[str]:
    return [line.text for line in read_lines(dataset)]


def test_several_label_files_are_concatenated(tmp_path: Path) -> None:
    lines = read_lines(section(tmp_path))
    assert [line.text for line in lines] == [*(f"a{n}" for n in range(6)), *(f"b{n}" for n in range(4))]
    assert lines[7].path == tmp_path / "b" / "1.png"
    assert len(lines) == 10
    assert lines[-1].text == "b3"
    with pytest.raises(IndexError):
        lines[10]


def test_each_source_has_its_share(tmp_path: Path) -> None:
    assert texts(section(tmp_path, sample_ratio=[0.5, 1.0])) == ["a1", "a3", "a5", "b0", "b1", "b2", "b3"]
    assert texts(section(tmp_path, label_file="b.txt", data_dir="b", sample_ratio=0.25)) == ["b3"]


def test_a_ratio_above_1_repeats_lines(tmp_path: Path) -> None:
    repeated = section(tmp_path, sample_ratio=[0.5, 2.5])
    assert texts(repeated) == ["a1", "a3", "a5", *(f"b{n}" for n in (0, 0, 1, 1, 1, 2, 2, 3, 3, 3))]
    parts = [set(texts({**repeated, "split": split})) for split in ([0, 0.5], [0.5, 1])]
    assert not parts[0] & parts[1], "copies of a line are in one part"


def test_lmdb_folders_are_joined(tmp_path: Path) -> None:
    for name, count in (("x", 3), ("y", 2)):
        rows = {f"label-{n + 1:09}": f"{name}{n}".encode() for n in range(count)}
        base(tmp_path / name, {"num-samples": str(count).encode(), **rows})
    dataset = {"type": "LMDBDataset", "dataset_root": str(tmp_path), "data_dir": ["x", "y"], "sample_ratio": [1.0, 0.5]}
    assert texts(dataset) == ["x0", "x1", "x2", "y1"]
    assert texts({**dataset, "data_dir": ".", "sample_ratio": 1.0}) == ["x0", "x1", "x2", "y0", "y1"]
    assert [folder for folder, _, _ in sources(dataset)] == [tmp_path / "x", tmp_path / "y"]
    with pytest.raises(KitError, match="nowhere"):
        sources({**dataset, "data_dir": "nowhere", "sample_ratio": 1.0})


def test_the_parts_of_a_split_are_disjoint_and_complete(tmp_path: Path) -> None:
    cuts = [0.0, 0.35, 0.9, 1.0]
    parts = [texts(section(tmp_path, split=list(pair), split_seed=7)) for pair in pairwise(cuts)]
    assert sorted(chain(*parts)) == sorted(texts(section(tmp_path)))
    assert list(map(len, parts)) == [3, 6, 1]
    assert parts[0] != texts(section(tmp_path, split=[0.0, 0.35], split_seed=8))


@given(st.lists(st.integers(0, 4), min_size=1, max_size=4), st.data())
def test_lines_behave_like_the_concatenated_parts(sizes: list[int], data: st.DataObject) -> None:
    parts = [[TextLine(Path(), text=f"{part}.{n}") for n in range(size)] for part, size in enumerate(sizes)]
    flat = list(chain(*parts))
    numbers = data.draw(st.lists(st.integers(0, max(len(flat) - 1, 0)), max_size=9)) if flat else []
    assert list(Lines(parts)) == flat
    assert list(Lines(parts).take(numbers)) == [flat[n] for n in numbers]
    assert list(Lines(parts)[1:3]) == flat[1:3]


def test_a_selection_without_lines_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(KitError, match="leave none of the 10 lines"):
        read_lines(section(tmp_path, sample_ratio=0.01))
