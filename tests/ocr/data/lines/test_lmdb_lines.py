"""Lines in LMDB: read one by one from any thread; an invalid folder is an error."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import lmdb
import numpy as np
import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data.lines import lmdb_lines
from hccl_kit.ocr.data.lines.lmdb_lines import LmdbLines, find_folders
from hccl_kit.ocr.data.samples import BadSampleError
from hccl_kit.ocr.data.transforms import decode_image
from tests.ocr.data.images import write_image


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
    monkeypatch.setattr(lmdb_lines, "MAX_IMAGE_BYTES", 9)
    rows = {"num-samples": b"2", "image-000000001": b"x" * 10, "image-000000002": b"x" * 9}
    long = {"label-000000001": b"a" * 100_000}
    lines = LmdbLines(base(tmp_path / "base", rows | long))
    assert len(lines[0].text) == lmdb_lines.MAX_LABEL_BYTES
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
