"""What goes into a way out and what comes of it: the file of the table, and the files that start the job."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from hccl_kit.base.errors import KitError

EXECUTABLE = 0o755


class TableFile(NamedTuple):
    """The rank table as a file: its name without a folder, and its whole text."""

    name: str
    text: str

    @property
    def sha256(self) -> str:
        """Of the text in UTF-8, as `sha256sum` prints it."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def assert_is_name(self) -> None:
        """KitError where the name is a path: the table lies beside what starts the job."""
        if not self.name or "/" in self.name or "\0" in self.name:
            raise KitError(f"the rank table is {self.name!r}; accepted: a file name, since it lies beside the script")


class LaunchFile(NamedTuple):
    """A file that starts the job, or that such a file needs: its name without a folder, text and permission bits."""

    name: str
    text: str
    mode: int = 0o644
