"""Opens the files that a rank writes in the run's log folder, whose names are known to everybody."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def open_in(folder: str | Path, name: str, *, is_new: bool) -> int:
    """The descriptor of a file in `folder`, opened for writing; emptied with `is_new`. Raises OSError.

    What another user may have put there under the name is not written to: a link of either kind leads to another file,
    and a pipe would stop the rank.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        file = os.open(name, flags, 0o644, dir_fd=place)
    finally:
        os.close(place)
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
            raise OSError(errno.ELOOP, "not a file of this run", name)
        if is_new:
            os.ftruncate(file, 0)
    except OSError:
        os.close(file)
        raise
    return file
