"""Atomic writes: a temporary file in the same folder is written, synced and renamed over the target."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from hccl_kit.base.errors import KitError
from hccl_kit.base.temporary import beside
from hccl_kit.base.wording import system_reason


def write_atomically(
    path: Path, content: bytes | str, *, mode: int = 0o644, like: os.stat_result | None = None, is_new: bool = False
) -> None:
    """Write `content` (text as UTF-8) to `path`, which holds the old content or the new one at every moment.

    `mode` holds the permission bits before the umask. `like` is the status of the file that is replaced: its permission
    bits are kept, and its owner too if the user may change owners. With `is_new`, a file that exists is an error; on a
    file system without hard links, `path` is an empty file for a moment. Raises KitError with the path and the reason
    if the file cannot be written or is not a regular file now; no temporary file is left.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    assert_no_device(path)
    temporary = beside(path, f"{os.urandom(8).hex()}.tmp")
    is_ours = False
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        is_ours = True
        with os.fdopen(descriptor, "wb") as file:
            if like:
                _resemble(descriptor, like)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if is_new:
            _move_to_new(temporary, path)
        else:
            temporary.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        raise KitError(
            "base.cannot-write", "cannot write {path}: {reason}", path=path, reason=system_reason(error)
        ) from error
    except ValueError as error:  # a NUL character
        raise KitError(
            "base.cannot-write-name", "cannot write {path!r}: {reason}", path=str(path), reason=error
        ) from error
    finally:
        if is_ours:
            temporary.unlink(missing_ok=True)


def assert_no_device(path: Path) -> None:
    """Raises KitError if `path` exists and is not a regular file: a rename would replace the device or pipe."""
    try:
        is_other = path.exists() and not path.is_file()
    except OSError as error:  # its name is too long
        raise KitError(
            "base.cannot-look", "cannot write {path}: {reason}", path=str(path)[:200], reason=system_reason(error)
        ) from error
    if is_other:
        if path.is_dir():
            raise KitError("base.target-folder", "{path} is a folder, so the file cannot be written", path=path)
        raise KitError(
            "base.target-not-regular", "{path} is not a regular file, so the file cannot be written", path=path
        )


def _move_to_new(temporary: Path, path: Path) -> None:
    """Give the file the name `path`, which nothing may have. Raises FileExistsError if `path` exists.

    A rename replaces what is there, a hard link does not. On a file system without hard links, the name is first taken
    by an empty file.
    """
    try:
        path.hardlink_to(temporary)
    except FileExistsError:
        raise
    except OSError:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC))
        try:
            temporary.replace(path)
        except OSError:
            path.unlink()
            raise


def _resemble(descriptor: int, old: os.stat_result) -> None:
    """Copy permission bits and owner: a job cannot read a table of mode 600 that root took over by rewriting it.

    Only root can change the owner.
    """
    with suppress(PermissionError):
        os.fchown(descriptor, old.st_uid, old.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(old.st_mode))


def _sync_folder(folder: Path) -> None:
    """Make the rename itself durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
