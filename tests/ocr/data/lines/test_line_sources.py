"""Sources of lines: several label files, a share of each, and disjoint splits."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import lmdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data.lines import line_sources
from hccl_kit.ocr.data.lines.line_sources import Lines, LmdbLines, find_folders, read_lines
from hccl_kit.ocr.data.samples import BadSampleError, TextLine, sources
from hccl_kit.ocr.data.transforms import decode_image
from tests.ocr.data.images import write_image


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


def base(folder: Path, rows: dict[str, bytes]) -> Path:
    folder.mkdir(parents=True)
    with lmdb.open(str(folder), map_size=1 << 20) as made, made.begin(write=True) as writing:
        for key, value in rows.items():
            writing.put(key.encode(), value)
    (folder / "lock.mdb").unlink()
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three lines: two images of gray 0 and 1, and a line that lacks its image."""
    rows = {"num-samples": b"3", "label-000000003": "第三".encode()}
    for number in range(2):
        write_image(tmp_path / "image.png", number)
        rows[f"image-{number + 1:09}"] = (tmp_path / "image.png").read_bytes()
        rows[f"label-{number + 1:09}"] = f"word {number}".encode()
    return base(tmp_path / "base", rows)


def test_every_line_has_its_text_and_its_image(folder: Path) -> None:
    lines = LmdbLines(folder)
    assert [line.text for line in lines] == ["word 0", "word 1", "第三"]
    assert [line.text for line in lines[1:]] == ["word 1", "第三"]
    assert lines[1].path == folder / "image-000000002"
    decode, generator = decode_image(), np.random.default_rng(0)
    for number in range(2):
        image = decode(lines[number], generator).image
        assert image is not None
        assert (image == number).all()
    with pytest.raises(BadSampleError, match="has no image-000000003"):
        decode(lines[2], generator)
    with pytest.raises(IndexError):
        lines[3]
    assert list(folder.iterdir()) == [folder / "data.mdb"], "no lock file is left"


def test_several_threads_can_read_at_once(folder: Path) -> None:
    lines = LmdbLines(folder)
    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(lambda n: lines[n % 2].text, range(500))) == [f"word {n % 2}" for n in range(500)]


def test_the_size_of_a_row_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hccl_kit.ocr.data.lines.line_sources.MAX_IMAGE_BYTES", 9)
    rows = {"num-samples": b"2", "image-000000001": b"x" * 10, "image-000000002": b"x" * 9}
    long = {"label-000000001": b"a" * 100_000}
    lines = LmdbLines(base(tmp_path / "base", rows | long))
    assert len(lines[0].text) == line_sources.MAX_LABEL_BYTES
    first, second = (line.data for line in lines)
    assert first is not None
    assert second is not None
    assert second() == b"x" * 9
    with pytest.raises(BadSampleError, match="image-000000001 has more than 9 bytes"):
        first()


def test_folders_are_found_at_any_depth(folder: Path, tmp_path: Path) -> None:
    other = base(tmp_path / "base" / "a" / "b", {"num-samples": b"1"})
    (tmp_path / "base" / "pipe").mkdir()
    os.mkfifo(tmp_path / "base" / "pipe" / "data.mdb")
    assert find_folders(tmp_path) == [folder, other]
    for path in (other / "nothing", tmp_path / "image.png"):
        with pytest.raises(KitError, match=f"neither {path} nor a folder in it has data.mdb"):
            find_folders(path)


def counted(count: str) -> Callable[[Path], object]:
    def write(path: Path) -> None:
        base(path / "x", {"num-samples": count.encode()})
        (path / "x/data.mdb").replace(path / "data.mdb")

    return write


def test_a_file_that_is_cut_while_it_is_read_is_an_error(folder: Path) -> None:
    """Such as by a second copy of the data set to the same place. SIGBUS would end the process without a word."""
    lines = LmdbLines(folder)
    (folder / "data.mdb").write_bytes(b"")
    with pytest.raises(KitError, match=f"{folder}/data.mdb is cut: it has 0 bytes") as caught:
        lines[1]
    assert "copy it again" in (caught.value.hint or "")


BROKEN: dict[str, Callable[[Path], object]] = {
    "is not a readable LMDB": lambda path: (path / "data.mdb").write_bytes(b"damaged" * 1000),
    "num-samples is ''": lambda path: (
        base(path / "x", {"a": b"1"}) and (path / "x/data.mdb").replace(path / "data.mdb")
    ),
    "num-samples is 999999999, but the database has only 1 rows": counted("999999999"),
    "is cut: it has 8192 bytes, and [0-9]+ by its header": lambda path: os.truncate(path / "data.mdb", 2 * 4096),
    **{f"num-samples is '{count}'": counted(count) for count in ("-1", "0", "1000000000")},
}


@pytest.mark.parametrize("message", BROKEN)
def test_a_damaged_folder_is_named(folder: Path, message: str) -> None:
    BROKEN[message](folder)
    with pytest.raises(KitError, match=f"{folder}.*{message}"):
        LmdbLines(folder)
