"""MATLAB files: what scipy reads, with every character, and files that would crash or fill the process."""

import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data import mat_file
from hccl_kit.ocr.data.mat_file import read, rows, text

CELL, CHAR, DOUBLE = 1, 4, 6
DEPTH = 200_000


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


def nested(depth: int) -> bytes:
    """Nested cells; written without `array`, which would take quadratic time."""
    head = struct.pack("<6I2i2I", 6, 8, CELL, 0, 5, 8, 1, 1, 1, 0)
    return b"".join(struct.pack("<II", 14, 48 * (depth - number) - 8) + head for number in range(depth))


def bomb(megabytes: int) -> bytes:
    """Zeros, which are that many when they are expanded."""
    size, compressor = megabytes << 20, zlib.compressobj(1)
    head = array(DOUBLE, (1, size // 8), struct.pack("<II", 9, size), name=b"a")
    head = head[:4] + struct.pack("<I", len(head) - 8 + size) + head[8:]
    pieces = [compressor.compress(piece) for piece in (head, *[bytes(1 << 20)] * megabytes)]
    return element(15, b"".join([*pieces, compressor.flush()]))


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


DAMAGED = "damaged or not a MATLAB file: "
HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "cells in cells": (
        lambda: array(CELL, (1, 1), nested(DEPTH), name=b"a"),
        "reading it ends with SIGSEGV: cells within many cells",
    ),
    "bomb": (lambda: bomb(512), f"takes more than {1 << 29} bytes of memory"),
    "many numbers": (lambda: array(DOUBLE, (1 << 20, 1 << 20), element(9, bytes(8)), name=b"a"), DAMAGED),
    "dimensions": (lambda: array(DOUBLE, (2,) * 40, element(9, bytes(8)), name=b"a"), DAMAGED),
    "many characters": (lambda: array(CHAR, ((1 << 31) - 1, 1), element(16, b""), name=b"a"), DAMAGED),
    "no cell": (lambda: array(CELL, (1, 1), name=b"a"), DAMAGED),
    "no zlib": (lambda: element(15, b"not zlib"), DAMAGED),
    "no element": (lambda: b"\1\2\3", DAMAGED),
}
"""Made by the test: large ones would take half a gigabyte in every test process."""


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_one_error_within_the_limits(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mat_file, "LIMITS", mat_file.LIMITS._replace(memory=1 << 29))
    make, reason = HOSTILE[name]
    path = write(tmp_path / "a.mat", make())
    with pytest.raises(KitError, match=reason) as caught:
        read(path, ["a"])
    assert str(path) in caught.value.message
    assert "\n" not in caught.value.message


def test_a_file_of_level_7_3_is_refused_with_the_next_step(tmp_path: Path) -> None:
    """It is an HDF5 file with a header like that of level 5."""
    (tmp_path / "a.mat").write_bytes(b"MATLAB 7.3 MAT-file".ljust(124) + b"\0\2IM" + bytes(400))
    with pytest.raises(KitError, match=r"v7\.3") as caught:
        read(tmp_path / "a.mat", ["a"])
    assert "save -v7" in str(caught.value.hint)
