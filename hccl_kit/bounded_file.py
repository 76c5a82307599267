"""Files that a user names are read up to a limit, and only where they end: no pipe and no device is waited for."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from hccl_kit.errors import KitError


def read_bounded(path: Path, limit: int) -> bytes:
    """The whole content of the regular file `path`, of at most `limit` bytes.

    `/dev/stdin` and `/dev/fd/N` may be anything, since the user's shell opened them. KitError names the path and the
    reason: it cannot be opened or read, it is no regular file, it is larger than `limit`.
    """
    # The size first: of a sparse file of terabytes nothing is read to learn that it is too large.
    data = None if _is_larger(path, limit) else read_start(path, limit + 1)
    if data is None or len(data) > limit:
        raise KitError(f"{path} is larger than {limit} bytes, the most that is read of such a file")
    return data


def _is_larger(path: Path, limit: int) -> bool:
    """Whether it is a regular file that says so; what cannot be asked is named where it is opened."""
    try:
        return path.is_file() and path.stat().st_size > limit
    except (OSError, ValueError):
        return False


def read_start(path: Path, size: int) -> bytes:
    """The first `size` bytes of what `read_bounded` accepts, for those who explain a larger file themselves."""
    is_opened_by_shell = str(path) == "/dev/stdin" or str(path).startswith("/dev/fd/")
    # Without O_NONBLOCK, opening a named pipe waits for somebody to write; for a regular file it means nothing.
    flags = 0 if is_opened_by_shell else os.O_NONBLOCK | os.O_NOCTTY
    try:
        with open(path, "rb", opener=lambda name, given: os.open(name, given | flags)) as file:
            if not is_opened_by_shell and not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise KitError(f"cannot read {path}: it is not a regular file", hint="pipe it in: /dev/stdin")
            return file.read(size)
    except OSError as error:
        raise KitError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:  # a NUL character
        raise KitError(f"cannot read {path}: {error}") from error


def read_text(path: Path, limit: int) -> str:
    """The content of `read_bounded` as UTF-8 text, without a byte order mark; KitError names the byte that is none."""
    try:
        return read_bounded(path, limit).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise KitError(f"{path} is not UTF-8: byte {error.start}") from error
