"""The texts of a structure array in a file of MATLAB, level 5: all that such labels need.

scipy reads any such file, by recursion in C: one with cells in cells in cells ends the process. Here nothing is
recursive, and what is not a text is skipped by its size. The format: "MAT-File Format", The MathWorks.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from hccl_kit.base.bounded_file import read_bounded
from hccl_kit.base.errors import KitError

MAX_BYTES, MAX_EXPANDED_BYTES = 1 << 26, 1 << 28
"""Of the file, and of what one of its compressed variables expands to."""
MAX_ROWS = 100_000

_HEADER, _TAG = 128, 8
_COMPRESSED = 15
_STRUCT_CLASS, _CHAR_CLASS = 2, 4
_ENCODINGS = {1: "utf-8", 2: "utf-8", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
"""By the type of an element with characters."""


class _DamagedError(Exception):
    """The bytes are not what the format says."""


def texts(path: Path, variables: tuple[str, ...], fields: tuple[str, ...]) -> list[tuple[str | None, ...]]:
    """These fields of each element of the first structure array with one of these names; None for what is not a text.

    Raises KitError if the file has no such array, or is damaged, too large, or not a file of MATLAB of level 5.
    """
    data = memoryview(read_bounded(path, MAX_BYTES))
    try:
        order = {b"IM": "<", b"MI": ">"}.get(bytes(data[126:128]))
        if order is None:
            raise _DamagedError("no header of level 5")
        for kind, content in _elements(data[_HEADER:], order, padded=False):
            variable = next(_elements(_inflated(content), order), (0, content))[1] if kind == _COMPRESSED else content
            parts = _elements(variable, order)
            head, _, name = _array(parts, order)
            if head == _STRUCT_CLASS and name in variables:
                return _rows(parts, order, fields)
    except (_DamagedError, zlib.error, struct.error, UnicodeDecodeError) as error:
        raise KitError(f"{path} is damaged or not a MATLAB file: {error}") from error
    raise KitError(f"{path} has no structure array {' or '.join(variables)}")


def _rows(parts: Iterator[tuple[int, memoryview]], order: str, fields: tuple[str, ...]) -> list[tuple[str | None, ...]]:
    """The elements of a structure array: the length of a field name, the names, then all fields of each element."""
    (_, length), (_, joined) = _two(parts)
    [width] = struct.unpack_from(f"{order}i", length)
    if not 0 < width <= 64:
        raise _DamagedError(f"names of {width} characters")
    names = [
        bytes(joined[at : at + width]).rstrip(b"\0").decode("ascii", "replace") for at in range(0, len(joined), width)
    ]
    if missing := [field for field in fields if field not in names]:
        raise _DamagedError(f"no field {' and '.join(missing)}")
    columns = [names.index(field) for field in fields]
    rows: list[tuple[str | None, ...]] = []
    while row := [content for _, content in islice(parts, len(names))]:
        if len(row) < len(names) or len(rows) == MAX_ROWS:
            raise _DamagedError(f"a part of an element, or more than {MAX_ROWS}")
        rows.append(tuple(_text(row[column], order) for column in columns))
    return rows


def _text(content: memoryview, order: str) -> str | None:
    """The text of an array of characters in one row; None for any other array."""
    parts = _elements(content, order)
    if not content:
        return None
    kind, shape, _ = _array(parts, order)
    encoding, found = next(parts, (0, content[:0]))
    if kind != _CHAR_CLASS or shape[:1] != (1,) or encoding not in _ENCODINGS:
        return None
    name = _ENCODINGS[encoding]
    return bytes(found).decode(name if name == "utf-8" else name + {"<": "-le", ">": "-be"}[order])


def _array(parts: Iterator[tuple[int, memoryview]], order: str) -> tuple[int, tuple[int, ...], str]:
    """The class, the sizes and the name that start an array."""
    (_, flags), (_, sizes) = _two(parts)
    _, name = next(parts, (0, sizes[:0]))
    shape = struct.unpack(f"{order}{len(sizes) // 4}i", sizes[: len(sizes) // 4 * 4])
    return struct.unpack_from(f"{order}I", flags)[0] & 0xFF, shape, bytes(name).decode("ascii", "replace")


def _two(parts: Iterator[tuple[int, memoryview]]) -> list[tuple[int, memoryview]]:
    found = list(islice(parts, 2))
    if len(found) < 2:
        raise _DamagedError("it ends within an array")
    return found


def _elements(content: memoryview, order: str, *, padded: bool = True) -> Iterator[tuple[int, memoryview]]:
    """The type and the bytes of each element; one of up to 4 bytes may stand in its own tag."""
    at = 0
    while at < len(content):
        kind, size = struct.unpack_from(f"{order}II", content, at)
        if small := kind >> 16:
            kind, size, start, end, most = kind & 0xFFFF, small, at + 4, at + _TAG, 4
        else:
            start, most = at + _TAG, len(content) - at - _TAG
            end = start + size + (-size % 8 if padded else 0)
        if size > min(most, len(content) - start):
            raise _DamagedError(f"an element of {size} bytes does not fit")
        yield kind, content[start : start + size]
        at = end


def _inflated(content: memoryview) -> memoryview:
    data = zlib.decompressobj().decompress(content, MAX_EXPANDED_BYTES + 1)
    if len(data) > MAX_EXPANDED_BYTES:
        raise _DamagedError(f"a variable of more than {MAX_EXPANDED_BYTES} bytes")
    return memoryview(data)
