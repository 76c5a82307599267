"""The file that a user names as a rank table: a path, or "-" for standard input."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from hccl_kit.base.bounded_file import read_descriptor, read_start
from hccl_kit.base.errors import KitError
from hccl_kit.table.document import MAX_BYTES, STDIN

MOUNTED = {"jobstart_hccl.json": "ModelArts", "hccl.json": "Kubernetes"}
"""The table in a folder that a platform mounts into the container of a job, and the platform."""


def load(file: str) -> tuple[bytes, str]:
    """The bytes of a file, or of standard input for "-", and the name under which they are reported.

    At most one byte more than the limit is read, so that an endless device cannot fill the memory. Raises KitError if
    the file cannot be read.
    """
    if file != "-":
        path = Path(file)
        if path.is_dir():
            _name_the_table_in(path)
        return read_start(path, MAX_BYTES + 1), file
    if sys.stdin is None:
        raise KitError("cannot read standard input: it is closed")
    try:
        return read_descriptor(sys.stdin.fileno(), MAX_BYTES + 1, STDIN), STDIN
    except OSError as error:
        raise KitError(f"cannot read standard input: {error.strerror}") from error


def _name_the_table_in(folder: Path) -> None:
    """Raises KitError if the folder holds the table of a platform; `read_start` refuses any other folder."""
    for name, platform in MOUNTED.items():
        if (folder / name).exists():
            table = shlex.quote(str(folder / name))
            raise KitError(
                f"{folder} is a folder that {platform} mounts; its table is {name}", hint=f"hccl-check {table}"
            )
