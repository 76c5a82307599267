"""Text lines in LMDB, as the deep-text-recognition benchmark has them (Baek et al. 2019).

A folder with data.mdb holds `num-samples`, and from 1 on `image-000000001`, the bytes of a file, and `label-000000001`,
its text. Nothing is read before it is asked for: such sets have millions of lines.
"""

from __future__ import annotations

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
"""More do not fit into the nine digits of a key."""
MAX_IMAGE_BYTES = 1 << 28
MAX_LABEL_BYTES = 1 << 16
"""A longer text is cut: what is left is still longer than any that a network reads."""


def find_folders(root: Path) -> list[Path]:
    """`root` and the folders in it, at any depth, that hold a data.mdb; KitError where there is none."""
    # Opening a named pipe, LMDB would wait for a writer.
    found = sorted(path.parent for path in root.rglob(FILE) if path.is_file()) if root.is_dir() else []
    if not found:
        raise KitError(f"{root} has no {FILE}, nor has a folder in it", hint="set data_dir to a folder of LMDB")
    return found


class LmdbLines(Sequence[TextLine]):
    """The lines of one folder. Any number of threads may read.

    KitError where the folder cannot be opened or does not say how many lines it has.
    """

    def __init__(self, folder: Path) -> None:
        import lmdb  # noqa: PLC0415  # of the extra `train`, and only where a data set is one

        self.folder = folder
        if not (folder / FILE).is_file():
            raise KitError(f"{folder / FILE} is not a regular file", hint="set data_dir to a folder of LMDB")
        try:
            # Without a lock file: sets lie on disks that cannot be written, and nobody writes them while they are read.
            self._open: lmdb.Environment = lmdb.open(
                str(folder), readonly=True, lock=False, readahead=False, max_readers=1024
            )
            entries = self._open.stat()["entries"]
            text = self._start("num-samples", 20).decode("ascii", "replace")
        except lmdb.Error as error:
            raise KitError(f"{folder} is no LMDB that can be read: {error}") from error
        if not (text.isascii() and text.isdecimal() and 0 < int(text) <= MAX_SAMPLES):
            raise KitError(f"{folder}: num-samples is {text!r}; accepted: a number from 1 to {MAX_SAMPLES}")
        self._count = int(text)
        if self._count > entries:
            raise KitError(f"{folder}: num-samples is {text}, and the data base has {entries} rows in all")

    def __len__(self) -> int:
        """The number of lines."""
        return self._count

    @overload
    def __getitem__(self, index: int) -> TextLine: ...
    @overload
    def __getitem__(self, index: slice) -> list[TextLine]: ...
    def __getitem__(self, index: int | slice) -> TextLine | list[TextLine]:
        """The line with its text; its image is read by DecodeImage. A text that is not there is empty."""
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
            raise BadSampleError(f"image-{number} has more than {MAX_IMAGE_BYTES} bytes, the most that is read of one")
        return data

    def _start(self, key: str, size: int) -> bytes:
        """The first bytes of a row, none where there is no such row. LMDB lies in the file; only these are copied."""
        with self._open.begin(buffers=True) as reading:
            return bytes((reading.get(key.encode()) or b"")[:size])
