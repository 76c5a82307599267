"""Reads texts and numbers from MATLAB files of level 5: all that labels need.

scipy reads such files by recursion in C, and deeply nested cells crash the process. Here nothing is recursive, and what
is neither text nor number is skipped by its size. The format: "MAT-File Format", The MathWorks.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

from hccl_kit.base.bounded_file import read_bounded
from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data.image_file import open_image
from hccl_kit.ocr.data.samples import BadSampleError, Sample

MAX_BYTES, MAX_EXPANDED_BYTES = 1 << 26, 1 << 28
"""Limits for a file with a structure array, and for one of its compressed variables when expanded."""
MAX_ROWS = 100_000
MAX_CELLS_BYTES = 1 << 31
"""Limit for all cells of an array, expanded; those of SynthText's words take about a quarter of it."""
MAX_CELL_BYTES = 1 << 24
MAX_DIMENSIONS = 32
MAX_FIELDS = 1000

_HEADER, _TAG = 128, 8
_MATRIX, _COMPRESSED = 14, 15
_CELL_CLASS, _STRUCT_CLASS, _CHAR_CLASS = 1, 2, 4
_NUMBER_CLASSES = range(6, 16)
_ENCODINGS = {1: "utf-8", 2: "utf-8", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
"""By MAT data type, for elements with characters."""
_NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
"""NumPy types by MAT data type, for elements with numbers: an array of doubles may be stored as bytes."""
_PIECE = 1 << 18


class _DamagedError(Exception):
    """The bytes do not follow the format."""


class Array(NamedTuple):
    """An array of characters or numbers as stored, in column-major order."""

    is_text: bool
    shape: tuple[int, ...]
    kind: str
    """The encoding of the text, or the dtype of the numbers, with the byte order."""
    data: memoryview

    def rows(self) -> list[str] | None:
        """The rows of a text; None for numbers, undecodable bytes, and several rows of another size than the shape."""
        if not self.is_text or len(self.shape) != 2:
            return None
        try:
            text = bytes(self.data).decode(self.kind)
        except UnicodeDecodeError:
            return None
        count, width = self.shape
        if count == 1:
            return [text]
        if len(text) != count * width or count > len(text):  # rows without characters take no room in the file
            return None
        return [text[row::count] for row in range(count)]


def texts(path: Path, variables: tuple[str, ...], fields: tuple[str, ...]) -> list[tuple[str | None, ...]]:
    """The `fields` of each element of the first structure array named in `variables`; None for what is not a text.

    Raises KitError if the file has no such array, or is damaged, too large, or not a MATLAB file of level 5.
    """
    data = memoryview(read_bounded(path, MAX_BYTES))
    try:
        order = _order(data[:_HEADER])
        for kind, content in _elements(data[_HEADER:], order, padded=False):
            variable = next(_elements(_inflated(content), order), (0, content))[1] if kind == _COMPRESSED else content
            parts = _elements(variable, order)
            head, _, name = _head(parts, order)
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
    if len(joined) > width * MAX_FIELDS:
        raise _DamagedError(f"{len(joined) // width} fields; accepted: up to {MAX_FIELDS}")
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
        rows.append(tuple(_text(_array(row[column], order)) for column in columns))
    return rows


def cells(path: Path, variables: Sequence[str], most: int) -> dict[str, list[Array | None]]:
    """The cells of each of `variables` that the file has; None for a cell that is neither text nor real numbers.

    Raises KitError if a variable is not an array of up to `most` cells, or if the file is damaged, too large, not a
    regular file or not a MATLAB file of level 5.
    """
    found: dict[str, list[Array | None]] = {}
    try:
        with open_image(Sample(path)) as (file, size):
            order = _order(memoryview(file.read(_HEADER)))
            at = _HEADER
            while at < size and len(found) < len(variables):
                file.seek(at)
                kind, length = struct.unpack(f"{order}II", file.read(_TAG))
                at += _TAG + length
                variable = _Variable(file, length, is_compressed=kind == _COMPRESSED)
                if kind == _COMPRESSED:
                    kind, _ = struct.unpack(f"{order}II", variable.read(_TAG))
                if kind != _MATRIX:
                    raise _DamagedError(f"an element of type {kind} instead of an array")
                head, shape, name = _head(variable.elements(order), order)
                if name in variables and name not in found:
                    if head != _CELL_CLASS or not 0 < math.prod(shape) <= most:
                        raise KitError(f"{path}: {name} is not an array of 1 to {most} cells")
                    found[name] = [variable.cell(order) for _ in range(math.prod(shape))]
    except BadSampleError as error:
        raise KitError(f"cannot read {path}: {error}") from error
    except (_DamagedError, OSError, zlib.error, struct.error) as error:
        raise KitError(f"{path} is damaged or not a MATLAB file: {error}") from error
    return found


class _Variable:
    """Reads the next `size` bytes of a file in order, and expands them if they are compressed."""

    def __init__(self, file: BinaryIO, size: int, *, is_compressed: bool = False) -> None:
        self.file, self.left = file, size
        self.expand = zlib.decompressobj() if is_compressed else None
        self.total = 0
        self.data = memoryview(b"")

    def read(self, count: int) -> memoryview:
        """The next bytes. Raises _DamagedError if there are fewer, or more than a variable may have."""
        if count > len(self.data):
            pieces, missing = [self.data], count - len(self.data)
            while missing > 0:
                piece = self._piece()
                pieces.append(memoryview(piece))
                missing -= len(piece)
            self.data = memoryview(b"".join(pieces))
        taken, self.data = self.data[:count], self.data[count:]
        return taken

    def _piece(self) -> bytes:
        if self.expand is None:
            piece = self._stored()
        else:
            piece = b""
            while not piece and not self.expand.eof:
                piece = self.expand.decompress(self.expand.unconsumed_tail or self._stored(), _PIECE)
        self.total += len(piece)
        if not piece or self.total > MAX_CELLS_BYTES:
            raise _DamagedError(f"a variable of more than {MAX_CELLS_BYTES} bytes" if piece else "it ends too early")
        return piece

    def _stored(self) -> bytes:
        piece = self.file.read(min(self.left, _PIECE))
        if not piece:
            raise _DamagedError("it ends too early")
        self.left -= len(piece)
        return piece

    def elements(self, order: str) -> Iterator[tuple[int, memoryview]]:
        """The elements at the start of an array, which are small."""
        while True:
            tag = self.read(_TAG)
            kind, size = struct.unpack(f"{order}II", tag)
            if kind >> 16:
                yield next(_elements(tag, order))
            else:
                yield kind, self._bounded(size + -size % 8)[:size]

    def cell(self, order: str) -> Array | None:
        """The next cell of an array."""
        kind, size = struct.unpack(f"{order}II", self.read(_TAG))
        if kind != _MATRIX:
            raise _DamagedError(f"a cell of type {kind}")
        return _array(self._bounded(size), order)

    def _bounded(self, size: int) -> memoryview:
        if size > MAX_CELL_BYTES:
            raise _DamagedError(f"an element of {size} bytes; accepted: up to {MAX_CELL_BYTES}")
        return self.read(size)


def _order(header: memoryview) -> str:
    """The byte order, as a prefix of `struct`."""
    order = {b"IM": "<", b"MI": ">"}.get(bytes(header[126:128]))
    if order is None or struct.unpack_from(f"{order}H", header, 124)[0] >> 8 != 1:
        raise _DamagedError("no header of level 5")
    return order


def _text(array: Array | None) -> str | None:
    """The text of one row; None for any other array."""
    rows = (array and array.rows()) or []
    return rows[0] if len(rows) == 1 else None


def _array(content: memoryview, order: str) -> Array | None:
    """The array of characters or real numbers of these bytes; None for any other."""
    if not content:
        return None
    parts = _elements(content, order)
    head, shape, _ = _head(parts, order)
    known = _ENCODINGS if head == _CHAR_CLASS else _NUMBERS if head in _NUMBER_CLASSES else {}
    kind, data = next(parts, (0, content[:0])) if known else (0, content)
    if kind not in known or next(parts, None):
        return None
    if known is _NUMBERS:
        return Array(False, shape, order + known[kind], data)
    ending = "" if known[kind] == "utf-8" else {"<": "-le", ">": "-be"}[order]
    return Array(True, shape, known[kind] + ending, data)


def _head(parts: Iterator[tuple[int, memoryview]], order: str) -> tuple[int, tuple[int, ...], str]:
    """The class, the sizes and the name that start an array."""
    (_, flags), (_, sizes) = _two(parts)
    _, name = next(parts, (0, sizes[:0]))
    if len(sizes) > 4 * MAX_DIMENSIONS:  # the product of millions of sizes takes hours
        raise _DamagedError(f"{len(sizes) // 4} dimensions; accepted: up to {MAX_DIMENSIONS}")
    shape = struct.unpack(f"{order}{len(sizes) // 4}i", sizes[: len(sizes) // 4 * 4])
    return struct.unpack_from(f"{order}I", flags)[0] & 0xFF, shape, bytes(name).decode("ascii", "replace")


def _two(parts: Iterator[tuple[int, memoryview]]) -> list[tuple[int, memoryview]]:
    found = list(islice(parts, 2))
    if len(found) < 2:
        raise _DamagedError("it ends within an array")
    return found


def _elements(content: memoryview, order: str, *, padded: bool = True) -> Iterator[tuple[int, memoryview]]:
    """The type and the bytes of each element; one of up to 4 bytes may be within its tag."""
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
