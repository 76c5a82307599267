"""A program that writes the logs of a run from the tar archive of a server, which is not trusted.

    python -m hccl_kit.launch.servers.unpacking FOLDER

It reads the archive from standard input, in a process with a limit on its memory (`base.limited_child`), since a header
may ask for any. Only the logs of a run are written; what is there already is kept. Exit code 1: not all were written;
the reason is printed.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tarfile
from pathlib import Path
from typing import IO

MAX_LOG = 2 << 30
"""Bytes of a log."""
MAX_LOGS = 32 << 30
"""Bytes of all logs of a server."""
MAX_ENTRIES = 10_000
"""Files and folders in the archive of a server."""
LOG = re.compile(
    r"(?:\./)?((?:restart_[0-9]{1,7}/)?"
    r"(?:plog/\w[\w.-]{0,39}/(?:debug|run)/(?:plog|device-[0-9]{1,3})/(?:plog|device)-[0-9]{1,10}_[0-9]{1,20}\.log"
    r"|rank_[0-9]{1,7}\.log(?:\.1)?|error_[0-9]{1,7}\.json|step_[0-9]{1,7}|facts_[0-9]{1,7}\.jsonl"
    r"|launcher_[0-9]{1,7}|(?:hccl|torch)_trace_rank_[0-9]{1,7}(?:\.json)?))",
    re.ASCII,
)
"""The files of a run that are written."""


def unpack(archive: IO[bytes], folder: Path) -> None:
    """Write the logs in `archive` to `folder`. Raises ValueError for bad data, and OSError."""
    left = MAX_LOGS
    try:
        with tarfile.open(fileobj=archive, mode="r|") as entries:
            for number, entry in enumerate(entries):
                entries.members = []  # type: ignore[attr-defined]  # it keeps all that it has seen
                name = LOG.fullmatch(entry.name)
                left -= entry.size
                if number == MAX_ENTRIES:
                    raise ValueError(f"it has more than {MAX_ENTRIES} files")
                if entry.size > MAX_LOG or left < 0:
                    raise ValueError(f"a log is larger than {MAX_LOG} bytes, or all together than {MAX_LOGS}")
                content = entries.extractfile(entry) if name and entry.isreg() else None
                if name and content:
                    _save(content, folder / name[1])
    except tarfile.ReadError as error:
        if str(error) != "empty file":  # it has the same disk, or no logs
            raise ValueError(f"the archive is damaged: {error}") from error
    except (tarfile.TarError, EOFError) as error:
        raise ValueError(f"the archive is damaged: {error}") from error


def _save(content: IO[bytes], path: Path) -> None:
    """Write a new file, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        return
    try:
        with os.fdopen(file, "wb") as target:
            shutil.copyfileobj(content, target, 1 << 20)
    except (OSError, tarfile.TarError):
        path.unlink()
        raise


if __name__ == "__main__":
    try:
        unpack(sys.stdin.buffer, Path(sys.argv[1]))
    except (MemoryError, OSError, ValueError) as why:
        sys.exit(str(why) or type(why).__name__)
