"""Bounded reads of files that a user names: up to a size limit, regular files only, without blocking on a pipe."""

from __future__ import annotations

import errno
import os
import stat
from itertools import islice
from pathlib import Path
from select import select
from shlex import quote

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.typos import nearest
from hccl_kit.base.wording import system_reason

_PIECE = 1 << 20
"""Bytes of one read if the size of a file is unknown."""
_MOST_NAMES = 1000
"""Files of a folder among which a misspelled one is looked for."""


def read_bounded(path: str | Path, limit: int) -> bytes:
    """The whole content of the regular file `path`, of at most `limit` bytes.

    `/dev/stdin` and `/dev/fd/N` may be of any type, since the user's shell opened them. Raises KitError if the file
    cannot be opened or read, is not a regular file, or is larger than `limit`.
    """
    # The size first: a sparse file of terabytes is refused without reading it.
    data = None if _is_larger(path, limit) else read_start(path, limit + 1)
    if data is None or len(data) > limit:
        raise KitError("base.larger", "{path} is larger than {limit} bytes", path=path, limit=limit)
    return data


def _is_larger(path: str | Path, limit: int) -> bool:
    """Whether `path` is a regular file above `limit`; opening it reports any other problem."""
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size > limit


def read_start(path: str | Path, size: int) -> bytes:
    """The first `size` bytes of a file that `read_bounded` accepts, for callers that report the limit themselves."""
    try:
        descriptor = open_regular(path)
        try:
            return read_descriptor(descriptor, size, str(path), waits=is_of_shell(path))
        finally:
            os.close(descriptor)
    except OSError as error:
        pipe = PIPE_IT_IN if error.strerror == NOT_REGULAR else None
        raise KitError(
            "base.cannot-read",
            "cannot read {path}: {reason}",
            hint=_meant(Path(path)) if isinstance(error, FileNotFoundError) else pipe,
            path=path or repr(path),
            reason=system_reason(error),
        ) from error
    except ValueError as error:  # a NUL character
        raise KitError("base.cannot-read-name", "cannot read {path}: {reason}", path=path, reason=error) from error


NOT_REGULAR = Message("base.not-regular", "it is not a regular file")
PIPE_IT_IN = Message("base.not-regular.fix", "pipe it in: /dev/stdin")


def open_regular(path: str | Path, *, follows: bool = True) -> int:
    """The descriptor of a file that `read_bounded` accepts, for reading; not of a link unless it `follows` those.

    Raises OSError if it cannot be opened, and for anything else.
    """
    # Without O_NONBLOCK, opening a named pipe waits for a writer; it has no effect on a regular file.
    flags = 0 if is_of_shell(path) else os.O_NONBLOCK | os.O_NOCTTY
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | flags | (0 if follows else os.O_NOFOLLOW))
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode) or (is_of_shell(path) and not stat.S_ISDIR(mode)):
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    raise OSError(errno.EINVAL, NOT_REGULAR)


def is_of_shell(path: str | Path) -> bool:
    """Whether this is a file that the user's shell opened."""
    return str(path) == "/dev/stdin" or str(path).startswith("/dev/fd/")


def _meant(path: Path) -> Message | None:
    """The next step for a misspelled name: the nearest one in its folder. For a link: where it leads."""
    if path.is_symlink():
        target = quote(str(path.readlink()))
        return Message("base.cannot-read.fix-link", "it is a link to {target}, which is missing", target=target)
    try:
        with os.scandir(path.parent) as entries:
            names = [entry.name for entry in islice(entries, _MOST_NAMES)]
    except OSError:
        return None
    near = nearest(path.name[:255], names, cutoff=0.8)
    if near is None:
        return None
    return Message("base.cannot-read.fix", "did you mean {near}?", near=quote(str(path.with_name(near))))


def read_descriptor(descriptor: int, size: int, name: str, *, waits: bool = True) -> bytes:
    """The bytes of an open file up to its end, `size` at most.

    If `waits`, a non-blocking descriptor is waited for. Raises KitError if it has nothing to read now and `waits`
    is false, or if a regular file changes while it is read; OSError if it cannot be read.
    """
    before = os.fstat(descriptor)
    pieces: list[bytes] = []
    left = size
    while left > 0:
        try:
            # Files in /proc have size 0.
            piece = os.read(descriptor, min(left, before.st_size + 1 if before.st_size else _PIECE))
        except BlockingIOError:
            if not waits:
                raise KitError("base.no-end", "cannot read {name}: it has no end", name=name) from None
            select([descriptor], [], [])
            continue
        if not piece:
            break
        pieces.append(piece)
        left -= len(piece)
    if stat.S_ISREG(before.st_mode) and before.st_size and _state(before) != _state(os.fstat(descriptor)):
        raise KitError(
            "base.changed",
            "cannot read {name}: it changed while it was read",
            fix="try again when it is complete",
            name=name,
        )
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _state(status: os.stat_result) -> tuple[int, int]:
    return status.st_size, status.st_mtime_ns


def read_text(path: str | Path, limit: int) -> str:
    """The file as UTF-8 text without byte order mark, read by `read_bounded`. Raises KitError if it is not UTF-8."""
    try:
        return read_bounded(path, limit).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise KitError("base.not-utf8", "{path} is not UTF-8: byte {offset}", path=path, offset=error.start) from error
