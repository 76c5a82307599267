"""The file that a user names as a rank table: a path, or "-" for standard input."""

from __future__ import annotations

import os
import sys
from shlex import quote

from hccl_kit.base.bounded_file import read_descriptor, read_start
from hccl_kit.base.errors import KitError
from hccl_kit.base.wording import system_reason
from hccl_kit.table.source import MAX_BYTES, STDIN

MOUNTED = {"jobstart_hccl.json": "ModelArts", "hccl.json": "Kubernetes"}
"""The table in a folder that a platform mounts into the container of a job, and the platform."""


def load(file: str) -> tuple[bytes, str]:
    """The bytes of a file, or of standard input for "-", and the name under which they are reported.

    At most one byte more than the limit is read, so that an endless device cannot fill the memory. Raises KitError if
    the file cannot be read.
    """
    if file != "-":
        if os.path.isdir(file):  # noqa: PTH112 - of a name that is too long, Path.is_dir raises OSError
            _name_the_table_in(file)
        return read_start(file, MAX_BYTES + 1), file
    if sys.stdin is None:
        raise KitError("table.stdin-closed", "cannot read standard input: it is closed")
    try:
        return read_descriptor(sys.stdin.fileno(), MAX_BYTES + 1, STDIN), STDIN
    except OSError as error:
        raise KitError(
            "table.stdin-unreadable", "cannot read standard input: {reason}", reason=system_reason(error)
        ) from error


def _name_the_table_in(folder: str) -> None:
    """Raises KitError if the folder holds the table of a platform; `read_start` refuses any other folder."""
    for name, platform in MOUNTED.items():
        table = os.path.join(folder, name)  # noqa: PTH118
        if os.path.exists(table):  # noqa: PTH110
            raise KitError(
                "table.mounted-folder",
                "{folder} is a folder that {platform} mounts; its table is {name}",
                fix="hccl-check {path}",
                folder=folder,
                platform=platform,
                name=name,
                path=quote(table),
            )
