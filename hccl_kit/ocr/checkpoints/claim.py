"""A folder has one run at a time: a second one would move files of the first aside, and both would mix their weights.

The kernel ends the claim with the process, also after SIGKILL.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from pathlib import Path

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.file_errors import OF_A_RUN, writing_into

PATIENCE = 5.0
"""Seconds to wait for a run that is about to end."""
PATIENCE_OF_RESTART = 60.0
"""The same for a group that is started again: its last run may be on another server, and still save."""
_CLAIMED: set[tuple[int, int]] = set()
"""Device and inode of the folders that this process has: it may train into one again."""


def claim(folder: Path, *, patience: float = PATIENCE) -> None:
    """Create the folder of a run, and keep it for this process until it ends. Rank 0 must call it.

    Raises KitError if another process has it or it cannot be created. File systems without locks have no claims.
    """
    with writing_into(folder, hint=OF_A_RUN):
        folder.mkdir(parents=True, exist_ok=True)
        assert_writable(folder)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)  # stays open
    status = os.fstat(descriptor)
    if (status.st_dev, status.st_ino) in _CLAIMED:
        os.close(descriptor)
        return
    end = time.monotonic() + patience
    while not _is_ours(descriptor):
        if time.monotonic() > end:
            os.close(descriptor)
            raise KitError(
                "ocr.claim.another-training-writing",
                "another training is writing into {folder}",
                fix="wait for its end, or give this run a folder of its own: -o train.ckpt_save_dir=...",
                folder=folder,
            )
        time.sleep(0.1)
    _CLAIMED.add((status.st_dev, status.st_ino))


def assert_writable(folder: Path) -> None:
    """Raises PermissionError if this user may not write into the folder, or its file system is read-only."""
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))


def _is_ours(descriptor: int) -> bool:
    """Whether this process has the lock, or there can be none."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks, or NFS, which has none for a folder
        return True
    return True
