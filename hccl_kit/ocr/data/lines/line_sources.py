"""The lines of a recognition data set: any number of label files or LMDB folders, and a share of each.

LMDB folders have the format of the deep-text-recognition benchmark (Baek et al. 2019): data.mdb holds `num-samples`
and, counted from 1, `image-000000001`, an encoded image, and `label-000000001`, its text. Its lines are read on access:
such data sets have millions of them.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data.page_split import Numbers, between, neighbours, numbered, page_names
from hccl_kit.ocr.data.samples import LMDB, BadSampleError, TextLine, read_labels, share, sources
from hccl_kit.ocr.data.synthetic import RENDERED
from hccl_kit.ocr.data.synthetic.render import rendered_lines

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


GUARD = 200
"""Rendered lines of `eval.guard`: a share of 98 % has a standard error of 1 %."""


class Lines(Sequence[TextLine]):
    """The lines of several parts, one part after the other, restricted to those in `chosen`.

    It takes 8 bytes per line besides the parts.
    """

    def __init__(self, parts: Sequence[Sequence[TextLine]], chosen: Numbers | None = None) -> None:
        self._parts = parts
        self._ends = np.cumsum([len(part) for part in parts])
        self._chosen = np.arange(self._ends[-1]) if chosen is None else chosen

    def take(self, numbers: Sequence[int] | Numbers) -> Lines:
        """The lines with these positions in this sequence."""
        return Lines(self._parts, self._chosen[np.asarray(numbers, np.int64)])

    def followed_by(self, part: Sequence[TextLine]) -> Lines:
        """These lines, and those of one more part."""
        more = self._ends[-1] + np.arange(len(part))
        return Lines([*self._parts, part], np.append(self._chosen, more))

    def __len__(self) -> int:
        return len(self._chosen)

    @overload
    def __getitem__(self, index: int) -> TextLine: ...
    @overload
    def __getitem__(self, index: slice) -> Lines: ...
    def __getitem__(self, index: int | slice) -> TextLine | Lines:
        """A line, or the lines of a slice."""
        if isinstance(index, slice):
            return Lines(self._parts, self._chosen[index])
        number = int(self._chosen[index])
        part = int(np.searchsorted(self._ends, number, side="right"))
        return self._parts[part][number - int(self._ends[part - 1] if part else 0)]

    def __iter__(self) -> Iterator[TextLine]:
        return (self[number] for number in range(len(self)))


def read_lines(dataset: Mapping[str, Any]) -> Lines:
    """The lines of a `dataset` section. Raises KitError if a file is missing or there are no lines.

    RecDataset: `label_file` has lines `path TAB text`, `data_dir` the images. LMDBDataset: `data_dir` is an LMDB folder
    or contains some. Each may be a list, with a `sample_ratio` for each; a ratio above 1 repeats lines. `split: [from,
    to]` keeps the pages between these shares of a random order that depends on `split_seed` alone: [0, 0.9] and
    [0.9, 1] have no page in common.
    """
    if dataset["type"] == RENDERED:
        return Lines([rendered_lines(GUARD, seed=0)])
    read = _from_lmdb if dataset["type"] == LMDB else _from_label_files
    parts = list(read(dataset))
    numbers, start = [], 0
    for part, ratio in parts:
        numbers.append(start + share(len(part), ratio))
        start += len(part)
    chosen = np.concatenate(numbers)
    if dataset.get("split"):
        pages = numbered(page for number, (part, _) in enumerate(parts) for page in _pages(number, part))
        chosen = chosen[between(pages[chosen], dataset["split"], seed=dataset.get("split_seed", 0))]
    if not len(chosen):
        raise KitError(
            "ocr.line-sources.sample-ratio-split",
            "sample_ratio and split leave none of the {start} lines of the data set",
            fix="split takes whole pages: another split_seed or share; names PAGE_NUMBER.png tell the pages",
            start=start,
        )
    return Lines([part for part, _ in parts], chosen)


def _pages(number: int, part: Sequence[TextLine]) -> Iterator[tuple[int, str | int]]:
    """The page of each line of a part; the lines of a database have no names, so neighbours count as one."""
    names = neighbours(len(part)) if isinstance(part, LmdbLines) else page_names([line.path for line in part])
    return ((number, name) for name in names)


def _from_label_files(dataset: Mapping[str, Any]) -> Iterator[tuple[Sequence[TextLine], float]]:
    for path, folder, ratio in sources(dataset):
        yield [TextLine(folder / name, text=text) for name, text in read_labels(path)], ratio


def _from_lmdb(dataset: Mapping[str, Any]) -> Iterator[tuple[Sequence[TextLine], float]]:
    for folder, _, ratio in sources(dataset):
        for inner in find_folders(folder):
            yield LmdbLines(inner), ratio
