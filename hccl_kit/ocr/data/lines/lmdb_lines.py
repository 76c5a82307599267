"""Text lines in LMDB, in the format of the deep-text-recognition benchmark (Baek et al. 2019).

A folder with data.mdb holds `num-samples` and, counted from 1, `image-000000001`, an encoded image, and
`label-000000001`, its text. Lines are read on access: such data sets have millions of them.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, overload

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data.samples import BadSampleError, TextLine

if TYPE_CHECKING:
    import lmdb

FILE = "data.mdb"
MAX_SAMPLES = 10**9 - 1
"""The most that fit into the nine digits of a key."""
MAX_IMAGE_BYTES = 1 << 28
MAX_LABEL_BYTES = 1 << 16
"""A longer text is truncated, to more characters than any network reads."""


def find_folders(root: Path) -> list[Path]:
    """`root` and the folders below it with a data.mdb. Raises KitError if there are none."""
    # Opening a named pipe, LMDB would wait for a writer.
    folders = sorted(path.parent for path in root.rglob(FILE) if path.is_file()) if root.is_dir() else []
    if not folders:
        raise KitError(
            "ocr.lmdb-lines.neither-nor-folder",
            "neither {root} nor a folder in it has {file}",
            fix="set data_dir to a folder of LMDB",
            root=root,
            file=FILE,
        )
    return folders


class LmdbLines(Sequence[TextLine]):
    """The lines of one folder of `find_folders`; thread-safe.

    Raises KitError if the folder cannot be opened or has no valid number of lines; then or later if the file is cut.
    """

    def __init__(self, folder: Path) -> None:
        import lmdb  # noqa: PLC0415  # of the extra `train`, and only for such data sets

        self.folder = folder
        try:
            # Without a lock file: data sets may be on read-only disks, and are not written while they are read.
            self._open: lmdb.Environment = lmdb.open(
                str(folder), readonly=True, lock=False, readahead=False, max_readers=1024
            )
            facts = self._open.stat()
            entries = facts["entries"]
            self._size = (self._open.info()["last_pgno"] + 1) * facts["psize"]
            self._descriptor = os.open(folder / FILE, os.O_RDONLY | os.O_CLOEXEC)
            weakref.finalize(self, os.close, self._descriptor)
            self._assert_whole()
            text = self._start("num-samples", 20).decode("ascii", "replace")
        except (lmdb.Error, OSError) as error:
            raise KitError(
                "ocr.lmdb-lines.not-readable-lmdb",
                "{folder} is not a readable LMDB: {reason}",
                folder=folder,
                reason=error,
            ) from error
        if not (text.isascii() and text.isdecimal() and 0 < int(text) <= MAX_SAMPLES):
            raise KitError(
                "ocr.lmdb-lines.num-samples",
                "{folder}: num-samples is {text!r}; accepted: a number from 1 to {max_samples}",
                folder=folder,
                text=text,
                max_samples=MAX_SAMPLES,
            )
        self._count = int(text)
        if self._count > entries:
            raise KitError(
                "ocr.lmdb-lines.num-samples-database",
                "{folder}: num-samples is {text}, but the database has only {entries} rows",
                folder=folder,
                text=text,
                entries=entries,
            )

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> TextLine: ...
    @overload
    def __getitem__(self, index: slice) -> list[TextLine]: ...
    def __getitem__(self, index: int | slice) -> TextLine | list[TextLine]:
        """The line with its text, empty if there is none; its image is read by DecodeImage."""
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        if not 0 <= index < len(self):
            raise IndexError(index)
        number = f"{index + 1:09}"
        text = self._start(f"label-{number}", MAX_LABEL_BYTES).decode("utf-8", "replace")
        return TextLine(self.folder / f"image-{number}", text=text, data=partial(self._image, number))

    def _image(self, number: str) -> bytes:
        data = self._start(f"image-{number}", MAX_IMAGE_BYTES + 1)
        if not data:
            raise BadSampleError(f"{self.folder} has no image-{number}")
        if len(data) > MAX_IMAGE_BYTES:
            raise BadSampleError(f"image-{number} has more than {MAX_IMAGE_BYTES} bytes, the accepted maximum")
        return data

    def _start(self, key: str, size: int) -> bytes:
        """The first bytes of a row, empty if there is no such row. LMDB is memory-mapped: only these are copied."""
        self._assert_whole()
        with self._open.begin(buffers=True) as reading:
            return bytes((reading.get(key.encode()) or b"")[:size])

    def _assert_whole(self) -> None:
        """Raises KitError if the file is shorter than its header says: what is missing would end the process by SIGBUS.

        So does a cut between this and the read, and one that the host learns late, as on a network file system.
        """
        size = os.fstat(self._descriptor).st_size
        if size < self._size:
            raise KitError(
                "ocr.lmdb-lines.cut",
                "{folder} is cut: it has {value} bytes, and {size} by its header",
                fix="copy it again, and wait until the copy is complete",
                folder=self.folder / FILE,
                value=size,
                size=self._size,
            )
