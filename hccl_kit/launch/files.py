"""The input and output of emitters: the file of the rank table, and the files that start the job."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from hccl_kit.base.errors import KitError

EXECUTABLE = 0o755


class TableFile(NamedTuple):
    """The rank table as a file: its name without a folder, and its text."""

    name: str
    text: str

    @property
    def sha256(self) -> str:
        """The digest of the text in UTF-8, as `sha256sum` prints it."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def assert_is_name(self) -> None:
        """Raises KitError if the name is a path; the script expects the table in its own folder."""
        if not self.name or "/" in self.name or "\0" in self.name:
            raise KitError(
                "launch.files.rank-table",
                "the rank table is {name!r}; accepted: a file name, in the folder of the script",
                name=self.name,
            )


class LaunchFile(NamedTuple):
    """A file that starts the job, or that such a file needs: name without a folder, text and permission bits."""

    name: str
    text: str
    mode: int = 0o644
