"""Logs inside compressed files and archives, as streams: nothing is unpacked to a disk, and no link is followed.

The standard library would allocate the memory that a header asks for, so headers are read here.
"""

from __future__ import annotations

import lzma
import re
import zlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

from hccl_kit.launch.payload.fetch_logs import BLOCK, size_of

PIECE = 1 << 20
"""Bytes of one read."""
MAX_ENTRIES = 100_000
MAX_NAME = 4096
MAX_HEADER = 1 << 20
"""Bytes of a header with a long name; larger ones are skipped."""
MAX_RATIO = 300
"""How much larger a log may be than packed; plogs reach 40. A file may have MIN_UNPACKED bytes in any case."""
MIN_UNPACKED = 1 << 30
XZ = b"\xfd7zXZ\0"
XZ_MEMORY = 128 << 20
"""Bytes that unpacking xz may take; `xz -9` takes 65 MiB."""

Read = Callable[[int], bytes]
"""Given a size, at most that many bytes; fewer only at the end, and none after it."""


class Member(NamedTuple):
    """A file in an archive; its pieces must be taken before the next one."""

    name: str
    changed: float | None
    pieces: Iterator[bytes]


class DamagedError(ValueError):
    """The rest of an archive or compressed file cannot be read; the text says why."""


def unpacked(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The content of a file that may be compressed with gzip or xz, by its first bytes. Raises DamagedError."""
    first = next(pieces, b"")
    if first.startswith(b"\x1f\x8b"):
        return _bounded(first, pieces, _gunzip)
    if first.startswith(XZ):
        return _bounded(first, pieces, _unxz)
    return _chained(first, pieces)


def _chained(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    if first:
        yield first
    yield from rest


def _bounded(
    first: bytes, rest: Iterator[bytes], unpack: Callable[[Iterator[bytes]], Iterator[bytes]]
) -> Iterator[bytes]:
    packed = size = 0

    def counted() -> Iterator[bytes]:
        nonlocal packed
        for piece in _chained(first, rest):
            packed += len(piece)
            yield piece

    for piece in unpack(counted()):
        size += len(piece)
        if size > max(MIN_UNPACKED, packed * MAX_RATIO):
            raise DamagedError(f"it unpacks to more than {MAX_RATIO} times its size")
        yield piece


def _gunzip(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The content of all members of a gzip file."""
    engine = zlib.decompressobj(wbits=31)
    try:
        for piece in pieces:
            data = piece
            while data:
                if engine.eof:
                    if not data.startswith(b"\x1f\x8b"):
                        return  # padding, as of a tape
                    engine = zlib.decompressobj(wbits=31)
                yield engine.decompress(data, PIECE)
                data = engine.unused_data if engine.eof else engine.unconsumed_tail
    except zlib.error:
        raise DamagedError("it is not gzip from there on") from None
    if not engine.eof:
        raise DamagedError("it ends in the middle")


def _unxz(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The content of all streams of an xz file."""
    engine = lzma.LZMADecompressor(memlimit=XZ_MEMORY)
    rest = b""
    try:
        for piece in pieces:
            data, rest = rest + piece, b""
            while data or not engine.needs_input:
                if engine.eof:
                    data = data.lstrip(b"\0")  # padding between streams
                    if len(data) < len(XZ):
                        rest = data
                        break
                    if not data.startswith(XZ):
                        return
                    engine = lzma.LZMADecompressor(memlimit=XZ_MEMORY)
                yield engine.decompress(data, PIECE)
                data = engine.unused_data if engine.eof else b""
    except lzma.LZMAError:
        raise DamagedError("it is not xz from there on, or needs too much memory") from None
    if not engine.eof:
        raise DamagedError("it ends in the middle")


def start(pieces: Iterator[bytes]) -> bytes:
    """Enough bytes for `is_tar`, if there are enough: the first member of a gzip file may hold fewer."""
    first = b""
    while len(first) < BLOCK and (piece := next(pieces, None)) is not None:
        first += piece
    return first


def is_tar(first: bytes) -> bool:
    """Whether a file that starts so is a tar archive."""
    try:
        return bool(size_of(first[:BLOCK]) >= 0)
    except ValueError:
        return False


def members(pieces: Iterator[bytes]) -> Iterator[Member]:
    """The regular files of a tar archive. Raises DamagedError."""
    read = _reader(pieces)
    long_name = ""
    for number in range(MAX_ENTRIES + 1):
        header = read(BLOCK)
        if header == bytes(BLOCK) or not (header or number):
            return
        if len(header) < BLOCK:
            raise DamagedError("it ends in the middle")
        if number == MAX_ENTRIES:
            raise DamagedError(f"it has more than {MAX_ENTRIES} files")
        try:
            size = size_of(header)
        except ValueError:
            raise DamagedError("it is not a tar archive from there on") from None
        kind = header[156:157]
        taken = _Content(read, size)
        if kind in b"Lx" and kind and size <= MAX_HEADER:
            data = b"".join(taken.pieces())
            long_name = _gnu_name(data) if kind == b"L" else _pax_name(data) or long_name
        elif kind in (b"0", b"\0", b"7"):
            yield Member(long_name or _name(header), _changed(header), taken.pieces())
            long_name = ""
        elif kind not in b"Kg" or not kind:
            long_name = ""
        for _ in taken.pieces():
            pass
        read(-size % BLOCK)


class _Content:
    """The bytes of a member, taken at most once."""

    def __init__(self, read: Read, size: int) -> None:
        self._read = read
        self._left = size

    def pieces(self) -> Iterator[bytes]:
        """What was not taken yet."""
        while self._left > 0:
            piece = self._read(min(self._left, PIECE))
            if not piece:
                raise DamagedError("it ends in the middle")
            self._left -= len(piece)
            yield piece


def _reader(pieces: Iterator[bytes]) -> Read:
    rest = b""

    def read(size: int) -> bytes:
        nonlocal rest
        while len(rest) < size:
            piece = next(pieces, None)
            if piece is None:
                break
            rest += piece
        taken, rest = rest[:size], rest[size:]
        return taken

    return read


def _text(name: bytes) -> str:
    return name[:MAX_NAME].decode("utf-8", "replace")


def _name(header: bytes) -> str:
    name, prefix = header[:100].split(b"\0")[0], b""
    if header[257:263] == b"ustar\0":
        prefix = header[345:500].split(b"\0")[0]
    return _text(prefix + b"/" + name if prefix else name)


def _changed(header: bytes) -> float | None:
    digits = header[136:148].strip(b" \0")
    return float(int(digits, 8)) if re.fullmatch(rb"[0-7]{1,11}", digits) else None


def _gnu_name(data: bytes) -> str:
    return _text(data.split(b"\0")[0])


def _pax_name(data: bytes) -> str:
    """The path among records `LENGTH KEY=VALUE`, each with a line break at its end."""
    at = 0
    while at < len(data):
        digits = data[at : at + 8].split(b" ")[0]
        if not digits.isdigit() or int(digits) == 0:
            return ""
        record = data[at + len(digits) + 1 : at + int(digits) - 1]
        if record.startswith(b"path="):
            return _text(record[5:])
        at += int(digits)
    return ""
