"""Text lines in LMDB, as the deep-text-recognition benchmark has them (Baek et al. 2019).

A folder with data.mdb holds `num-samples`, and from 1 on `image-000000001`, the bytes of a file, and `label-000000001`,
its text. Nothing is read before it is asked for: such sets have millions of lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, overload

from hccl_kit.errors import KitError
from hccl_kit.ocr.data.samples import BadSampleError, TextLine

if TYPE_CHECKING:
    import lmdb

FILE = "data.mdb"
MAX_SAMPLES = 10**9 - 1
"""More do not fit into the nine digits of a key."""


def find_folders(root: Path) -> list[Path]:
    """`root` and the folders in it, at any depth, that hold a data.mdb; KitError where there is none."""
    found = sorted(path.parent for path in root.rglob(FILE)) if root.is_dir() else []
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
        try:
            # Without a lock file: sets lie on disks that cannot be written, and nobody writes them while they are read.
            self._open: lmdb.Environment = lmdb.open(
                str(folder), readonly=True, lock=False, readahead=False, max_readers=1024
            )
            count = self._get("num-samples")
        except lmdb.Error as error:
            raise KitError(f"{folder} is no LMDB that can be read: {error}") from error
        text = (count or b"").decode("ascii", "replace")
        if not (text.isascii() and text.isdecimal() and 0 < int(text[:20]) <= MAX_SAMPLES):
            raise KitError(f"{folder}: num-samples is {text[:20]!r}; accepted: a number from 1 to {MAX_SAMPLES}")
        self._count = int(text)

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
        text = (self._get(f"label-{number}") or b"").decode("utf-8", "replace")
        return TextLine(self.folder / f"image-{number}", text=text, data=partial(self._image, number))

    def _image(self, number: str) -> bytes:
        data = self._get(f"image-{number}")
        if data is None:
            raise BadSampleError(f"{self.folder} has no image-{number}")
        return data

    def _get(self, key: str) -> bytes | None:
        with self._open.begin() as reading:
            return reading.get(key.encode())
