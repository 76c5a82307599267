"""MATLAB files: what scipy reads, with every character, and damaged files."""

import struct
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data.mat_file import read, rows, text

CELL, CHAR, DOUBLE = 1, 4, 6


def element(kind: int, data: bytes, order: str = "<") -> bytes:
    return struct.pack(f"{order}II", kind, len(data)) + data + bytes(-len(data) % 8)


def array(kind: int, shape: tuple[int, ...], *parts: bytes, name: bytes = b"", order: str = "<") -> bytes:
    head = element(6, struct.pack(f"{order}II", kind, 0), order)
    head += element(5, struct.pack(f"{order}{len(shape)}i", *shape), order) + element(1, name, order)
    return element(14, head + b"".join(parts), order)


def write(path: Path, *variables: bytes, order: str = "<") -> Path:
    mark = {"<": b"\0\1IM", ">": b"\1\0MI"}[order]
    path.write_bytes(b"MATLAB 5.0 MAT-file".ljust(124) + mark + b"".join(variables))
    return path


@pytest.mark.parametrize("compressed", [False, True])
def test_only_the_named_variables_are_read(tmp_path: Path, compressed: bool) -> None:
    names, numbers = np.empty((1, 2), object), np.arange(8.0).reshape(2, 4)
    names[0, :] = ["a.png", np.array(["two", "rows"])]
    savemat(tmp_path / "a.mat", {"other": 1, "names": names, "numbers": numbers}, do_compression=compressed)
    found = read(tmp_path / "a.mat", ["numbers", "names", "none"])
    assert found.keys() == {"names", "numbers"}
    np.testing.assert_array_equal(found["numbers"], numbers)
    assert [text(name) for name in found["names"][0]] == ["a.png", None]
    assert [row.rstrip() for row in rows(found["names"][0, 1]) or []] == ["two", "rows"]
    assert rows(found["numbers"]) is None


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("kind", "encoding"), [(4, "utf-16"), (17, "utf-16"), (16, "utf-8"), (18, "utf-32")])
def test_every_character_is_read_in_any_encoding(tmp_path: Path, order: str, kind: int, encoding: str) -> None:
    """By default, scipy cuts characters that are stored as numbers of 16 bits, as MATLAB does, to 8 bits."""
    name = encoding if encoding == "utf-8" else encoding + {"<": "-le", ">": "-be"}[order]
    content = element(kind, "añbÅ字 ".encode(name), order)
    cell = array(CHAR, (2, 3), content, name=b"a", order=order)
    found = read(write(tmp_path / "a.mat", cell, order=order), ["a"])["a"]
    assert rows(found) == ["ab字", "ñÅ "]


def test_characters_that_cannot_be_decoded_are_no_text(tmp_path: Path) -> None:
    cell = array(CHAR, (1, 2), element(16, b"a\xff"), name=b"a")
    assert rows(read(write(tmp_path / "a.mat", cell), ["a"])["a"]) is None


DAMAGED = {
    "dimensions": array(DOUBLE, (2,) * 40, element(9, bytes(8)), name=b"a"),
    "no cell": array(CELL, (1, 1), name=b"a"),
    "no zlib": element(15, b"not zlib"),
    "no element": b"\1\2\3",
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_is_one_error(name: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.mat", DAMAGED[name])
    with pytest.raises(KitError, match="is damaged or not a MATLAB file: ") as caught:
        read(path, ["a"])
    assert str(path) in caught.value.message
    assert "\n" not in caught.value.message


def test_a_file_of_level_7_3_is_refused_with_the_next_step(tmp_path: Path) -> None:
    """It is an HDF5 file with a header like that of level 5."""
    (tmp_path / "a.mat").write_bytes(b"MATLAB 7.3 MAT-file".ljust(124) + b"\0\2IM" + bytes(400))
    with pytest.raises(KitError, match=r"v7\.3") as caught:
        read(tmp_path / "a.mat", ["a"])
    assert "save -v7" in str(caught.value.hint)
