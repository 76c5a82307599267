"""The rule for a folder whose files this program runs or trusts: only its user, and root, can change them."""

from __future__ import annotations

import os
import shlex
import stat
from pathlib import Path

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message

WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def make_private(folder: Path) -> None:
    """Create a folder that only this user can use, with those above it, or accept one that only this user can change.

    Raises KitError if it, or what it is in, belongs to others or they may write there, and OSError if it cannot be
    created. A folder of root is accepted: an administrator may fill it.
    """
    for path in (*reversed(folder.parents), folder):
        path.mkdir(mode=0o700, exist_ok=True)
    status = folder.stat()
    if status.st_uid not in (os.geteuid(), 0):
        hint = Message("base.folder-of-another.fix", "set HCCL_KIT_CACHE to a folder of your own")
        raise KitError("base.folder-of-another", "{folder} belongs to another user", hint=hint, folder=folder)
    _assert(folder, status.st_mode & WRITABLE_BY_OTHERS)
    # There, others could replace the folder, unless its sticky bit is set, as that of /tmp.
    mode = folder.parent.stat().st_mode
    _assert(folder.parent, mode & stat.S_IWOTH and not mode & stat.S_ISVTX)


def _assert(folder: Path, is_open: object) -> None:
    if is_open:
        hint = Message("base.folder-open.fix", "chmod go-w {folder}", folder=shlex.quote(str(folder)))
        raise KitError("base.folder-open", "others may write into {folder}", hint=hint, folder=folder)
