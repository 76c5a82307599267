"""Cells of a MATLAB file: read like scipy does, in any storage format, and without recursion."""

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.io import loadmat, savemat

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data import mat_file
from hccl_kit.ocr.data.mat_file import Array, cells, texts

CELL, STRUCT, CHAR, DOUBLE = 1, 2, 4, 6
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


def only(path: Path) -> Array | None:
    [found] = cells(path, ["a"], 9)["a"]
    return found


TEXTS = st.text(st.characters(codec="ascii", exclude_characters="\0"), min_size=1, max_size=9)
NUMBERS = st.sampled_from(["f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(TEXTS, min_size=1, max_size=3), min_size=1, max_size=4), NUMBERS, st.booleans())
def test_cells_match_scipy(tmp_path: Path, texts: list[list[str]], kind: str, compressed: bool) -> None:
    names, values = (np.empty((1, len(texts)), object) for _ in range(2))
    for number, rows in enumerate(texts):
        names[0, number] = np.array(rows)
        values[0, number] = np.arange(8 * len(rows), dtype=kind).reshape(2, 4, -1)
    path = tmp_path / "a.mat"
    savemat(path, {"other": 1, "names": names, "values": values}, do_compression=compressed)
    expected = loadmat(path)
    found = cells(path, ["values", "names", "none"], 4)
    assert found.keys() == {"names", "values"}
    for theirs, ours in zip(expected["names"][0], found["names"], strict=True):
        assert ours is not None
        assert [row.rstrip(" ") for row in ours.rows() or []] == [row.rstrip(" ") for row in theirs]
    for theirs, ours in zip(expected["values"][0], found["values"], strict=True):
        assert ours is not None
        assert ours.rows() is None
        read = np.frombuffer(ours.data, ours.kind).reshape(ours.shape, order="F")
        np.testing.assert_array_equal(read, theirs)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("kind", "encoding"), [(4, "utf-16"), (17, "utf-16"), (16, "utf-8"), (18, "utf-32")])
def test_rows_of_a_text_are_stored_column_by_column(tmp_path: Path, order: str, kind: int, encoding: str) -> None:
    name = encoding if encoding == "utf-8" else encoding + {"<": "-le", ">": "-be"}[order]
    text = element(kind, "añbÅc ".encode(name), order)
    cell = array(CELL, (1, 1), array(CHAR, (2, 3), text, order=order), name=b"a", order=order)
    found = only(write(tmp_path / "a.mat", cell, order=order))
    assert found is not None
    assert found.rows() == ["abc", "ñÅ "]


@pytest.mark.parametrize("order", ["<", ">"])
def test_doubles_may_be_stored_as_smaller_numbers(tmp_path: Path, order: str) -> None:
    numbers = element(4, struct.pack(f"{order}4H", 1, 2, 3, 400), order)
    cell = array(CELL, (1, 1), array(DOUBLE, (2, 2), numbers, order=order), name=b"a", order=order)
    found = only(write(tmp_path / "a.mat", cell, order=order))
    assert found is not None
    assert np.frombuffer(found.data, found.kind).tolist() == [1, 2, 3, 400]


@pytest.mark.parametrize(
    "cell",
    [
        array(CELL, (1, 1), array(DOUBLE, (1, 1), element(9, bytes(8)))),
        array(DOUBLE, (1, 1), element(9, bytes(8)), element(9, bytes(8))),
        array(CHAR, (1, 1), element(9, bytes(8))),
        array(STRUCT, (1, 1)),
        array(DOUBLE, (0, 0)),
        element(14, b""),
        nested(DEPTH),
    ],
    ids=["cell", "complex", "text of doubles", "structure", "nothing", "empty", "cells in cells"],
)
def test_other_kinds_of_cells_are_not_read(tmp_path: Path, cell: bytes) -> None:
    assert only(write(tmp_path / "a.mat", array(CELL, (1, 1), cell, name=b"a"))) is None


@pytest.mark.parametrize(
    ("variable", "reason"),
    [
        (array(DOUBLE, (1, 1), element(9, bytes(8)), name=b"a"), "a is not an array of 1 to 9 cells"),
        (array(CELL, (2, 5), name=b"a"), "a is not an array of 1 to 9 cells"),
        (array(CELL, (1, 0), name=b"a"), "a is not an array of 1 to 9 cells"),
        (array(CELL, (1, 1), name=b"a"), "damaged or not a MATLAB file: it ends too early"),
        (array(CELL, (1, 1), element(9, bytes(8)), name=b"a"), "a cell of type 9"),
        (array(CELL, (1, 1), struct.pack("<II", 14, 1 << 31), name=b"a"), "an element of 2147483648 bytes"),
        (element(9, bytes(8)), "an element of type 9 instead of an array"),
        (element(15, b"not zlib"), "damaged or not a MATLAB file"),
        (b"\1\2\3", "damaged or not a MATLAB file"),
    ],
)
def test_an_array_that_is_not_a_cell_array_is_refused(tmp_path: Path, variable: bytes, reason: str) -> None:
    path = write(tmp_path / "a.mat", variable)
    with pytest.raises(KitError, match=reason):
        cells(path, ["a"], 9)


def test_a_decompression_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mat_file, "MAX_CELLS_BYTES", 1 << 21)
    row = np.empty((1, 9), object)
    row[0, :] = [np.zeros(1 << 15)] * 9
    savemat(tmp_path / "a.mat", {"a": row}, do_compression=True)
    with pytest.raises(KitError, match="a variable of more than 2097152 bytes"):
        cells(tmp_path / "a.mat", ["a"], 9)


def test_a_file_of_level_7_3_is_refused(tmp_path: Path) -> None:
    """It is an HDF5 file with a header like that of level 5."""
    (tmp_path / "a.mat").write_bytes(b"MATLAB 7.3 MAT-file".ljust(124) + b"\0\2IM" + bytes(400))
    with pytest.raises(KitError, match=r"no header of level 5"):
        cells(tmp_path / "a.mat", ["a"], 9)


def test_rows_without_characters_take_no_memory(tmp_path: Path) -> None:
    """Two billion of them fit in a file of 200 bytes."""
    text = array(CHAR, ((1 << 31) - 1, 0), element(16, b""))
    found = only(write(tmp_path / "a.mat", array(CELL, (1, 1), text, name=b"a")))
    assert found is not None
    assert found.rows() is None


@pytest.mark.parametrize("compressed", [False, True])
def test_an_array_of_many_dimensions_is_refused(tmp_path: Path, compressed: bool) -> None:
    """The product of four million sizes has millions of digits, and they compress to a few thousand bytes."""
    variable = array(CELL, (2,) * 40, name=b"a")
    path = write(tmp_path / "a.mat", element(15, zlib.compress(variable)) if compressed else variable)
    for read in (lambda: cells(path, ["a"], 9), lambda: texts(path, ("a",), ("x",))):
        with pytest.raises(KitError, match="40 dimensions"):
            read()


def test_a_structure_with_too_many_fields_is_refused(tmp_path: Path) -> None:
    head = element(5, struct.pack("<i", 1)) + element(1, b"x" * 5000)
    with pytest.raises(KitError, match="5000 fields"):
        texts(write(tmp_path / "a.mat", array(STRUCT, (1, 1), head, name=b"a")), ("a",), ("x",))
