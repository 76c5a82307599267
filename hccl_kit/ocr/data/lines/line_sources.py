"""The lines of a recognition data set: any number of label files or LMDB folders, and a share of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, overload

import numpy as np

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data.lines.lmdb_lines import LmdbLines, find_folders
from hccl_kit.ocr.data.page_split import Numbers, between, neighbours, numbered, page_names
from hccl_kit.ocr.data.samples import LMDB, TextLine, read_labels, share, sources
from hccl_kit.ocr.data.synthetic import RENDERED
from hccl_kit.ocr.data.synthetic.render import rendered_lines

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
