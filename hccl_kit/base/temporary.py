"""Names of temporary files that say which process writes them, so that those of killed processes can be removed."""

from __future__ import annotations

import os
import re
import time
from binascii import crc32
from contextlib import suppress
from pathlib import Path

OLD = 86_400.0
"""Seconds without a change after which no process writes a file any more, on whatever host."""
_NAME = r"\..+\.([0-9a-f]{8})\.([1-9][0-9]{0,9})\.(?:[0-9a-f]+\.)?(?:tmp|ckpt)"


def beside(path: Path, ending: str = "tmp") -> Path:
    """The path of a temporary file or folder for `path`: its name holds this host and process.

    `ending` is tmp or ckpt, perhaps after a hexadecimal number and a dot. A file that must be new needs a drawn number:
    threads of a process may write one file, and a killed process may have had the same id.
    """
    return path.with_name(f".{path.name}.{_host()}.{os.getpid()}.{ending}")


def is_left(path: Path) -> bool:
    """Whether a killed process has left this file or folder.

    A process of another host, or of another container, counts as running until its file is a day old.
    """
    name = re.fullmatch(_NAME, path.name)
    return name is not None and (
        (name[1] == _host() and not Path("/proc", name[2]).exists()) or time.time() - path.lstat().st_mtime > OLD
    )


def _host() -> str:
    """This host and its space of process ids: two containers may have one host name, and do not see each other's."""
    space = 0
    with suppress(OSError):
        space = Path("/proc/self/ns/pid").stat().st_ino
    return f"{crc32(f'{os.uname().nodename} {space}'.encode(errors='surrogateescape')):08x}"
