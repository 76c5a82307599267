"""Removes what killed processes have left."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

from hccl_kit.base import temporary


def sweep(folder: Path) -> None:
    """Remove temporary files and folders that killed processes have left; those of running processes stay."""
    with suppress(OSError):  # such as: no such folder, or one that may not be changed
        for path in folder.iterdir():
            if not temporary.is_left(path):
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
