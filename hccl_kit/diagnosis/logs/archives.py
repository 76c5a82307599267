"""Logs inside compressed files and archives, as streams: nothing is unpacked to a disk, and no link is followed.

Only regular files are looked at, and their names are only names, so tarfile's filters have nothing to do here. A header
may ask for more memory than there is: `readers` has processes with limits for what may be hostile.
"""

from __future__ import annotations

import io
import lzma
import tarfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain, count
from typing import IO, NamedTuple, cast

PIECE = 1 << 20
"""Bytes of one read."""
MAX_ENTRIES = 100_000
MAX_NAME = 4096
MAX_RATIO = 300
"""How much larger a log may be than packed; plogs reach 40. A file may have MIN_UNPACKED bytes in any case."""
MIN_UNPACKED = 1 << 30
GZIP = b"\x1f\x8b"
XZ = b"\xfd7zXZ\0"
XZ_MEMORY = 128 << 20
"""Bytes that unpacking xz may take; `xz -9` takes 65 MiB."""
MAX_TIME = 1e11
"""Seconds since 1970; later changes are not believed."""


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
    if first.startswith(GZIP):
        return _bounded(first, pieces, _gunzip)
    if first.startswith(XZ):
        return _bounded(first, pieces, _unxz)
    return chain([first], pieces) if first else pieces


def _bounded(
    first: bytes, rest: Iterator[bytes], unpack: Callable[[Iterator[bytes]], Iterator[bytes]]
) -> Iterator[bytes]:
    packed = size = 0

    def counted() -> Iterator[bytes]:
        nonlocal packed
        for piece in chain([first], rest):
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
                    if not data.startswith(GZIP):
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
    while len(first) < tarfile.BLOCKSIZE and (piece := next(pieces, None)) is not None:
        first += piece
    return first


def is_tar(first: bytes) -> bool:
    """Whether a file that starts so is a tar archive."""
    try:
        tarfile.TarInfo.frombuf(first[: tarfile.BLOCKSIZE], "utf-8", "replace")
    except tarfile.HeaderError:
        return False
    return True


def is_packed(first: bytes) -> bool:
    """Whether a file that starts so is compressed, or a tar archive."""
    return first.startswith((GZIP, XZ)) or is_tar(first)


class _Header(tarfile.TarInfo):
    """A header of tarfile, which would take a damaged or cut one for the end of the archive."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _Header:
        if len(buf) < tarfile.BLOCKSIZE:
            raise DamagedError("it ends in the middle")
        try:
            return super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError:
            if any(buf):
                raise DamagedError("it is not a tar archive from there on") from None
            raise  # the end of an archive is a block of zeros


class _Stream:
    """Pieces as the file that tarfile reads. Damage ends it, since tarfile would lose what it has read before."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._piece = io.BytesIO()
        self.damage: DamagedError | OSError | None = None

    def read(self, size: int, /) -> bytes:
        """Up to `size` bytes, none at the end only."""
        try:
            while not (data := self._piece.read(size)):
                self._piece = io.BytesIO(next(self._pieces))
        except StopIteration:
            return b""
        except (DamagedError, OSError) as error:
            self.damage = error
            return b""
        return data

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turns what tarfile raises into damage: hostile bytes may raise anything."""
        try:
            yield
        except Exception as error:
            raise self.damage or _damage(error) from None


def _damage(error: Exception) -> DamagedError:
    if isinstance(error, DamagedError):
        return error
    if isinstance(error, tarfile.ReadError):
        return DamagedError("it ends in the middle")
    if isinstance(error, MemoryError):
        return DamagedError("it needs too much memory from there on")
    return DamagedError("it is not a tar archive from there on")


def members(pieces: Iterator[bytes]) -> Iterator[Member]:
    """The regular files of a tar archive. Raises DamagedError, or OSError if it cannot be read."""
    first = start(pieces)
    if not first:
        return
    stream = _Stream(chain([first], pieces))
    with stream.explained():
        file = cast("IO[bytes]", stream)  # of which tarfile uses `read` only
        archive = tarfile.open(fileobj=file, mode="r|", tarinfo=_Header, encoding="utf-8", errors="replace")  # noqa: SIM115
    for number in count():
        with stream.explained():
            entry = archive.next()
        if entry is None:
            return
        if number == MAX_ENTRIES:
            raise DamagedError(f"it has more than {MAX_ENTRIES} files")
        archive.members = []  # type: ignore[attr-defined] # it would keep the headers of all
        if entry.isreg() and not entry.issparse():  # a small file with holes has any number of zeros
            changed = float(entry.mtime)
            is_time = 0 <= changed < MAX_TIME
            yield Member(entry.name[:MAX_NAME], changed if is_time else None, _content(archive, entry.size, stream))


def _content(archive: tarfile.TarFile, size: int, stream: _Stream) -> Iterator[bytes]:
    """The bytes after a header; `extractfile` would lose the last ones of a file that is cut."""
    assert archive.fileobj
    while size > 0:
        with stream.explained():
            piece = archive.fileobj.read(min(size, PIECE))
        if not piece:
            raise stream.damage or DamagedError("it ends in the middle")
        size -= len(piece)
        yield piece
