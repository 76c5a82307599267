"""Parts of a data set that have no page in common: `split` of a `dataset` section."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
_LINE_OF_PAGE = re.compile(r"[-_. ]?\d+$")
_NEIGHBOURS = 10
"""Samples in a row that count as a page if nothing tells pages, but at most a hundredth of all."""


def page_names(images: Sequence[Path]) -> list[str]:
    """The page that each image of a label file was cut from, by the names of the files.

    `receipt7_001.png` and `receipt7_002.png` are of one page, and so are the files 1.png, 2.png of a folder. Names that
    all differ in their last number alone tell no pages: then neighbours count as one.
    """
    names = [f"{image.parent}/{_LINE_OF_PAGE.sub('', image.stem)}" for image in images]
    return names if len(set(names)) > 1 else [*map(str, neighbours(len(images)))]


def neighbours(count: int) -> list[int]:
    """The number of a page for each of `count` samples of which only the order is known: a few in a row are one."""
    together = max(1, min(_NEIGHBOURS, count // 100))
    return [number // together for number in range(count)]


def numbered(pages: Iterable[Hashable]) -> Numbers:
    """A number for each of `pages`, equal for equal ones, in the order in which they appear."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(page, len(numbers)) for page in pages], np.int64)


def between(pages: Numbers, split: Sequence[float], *, seed: int) -> Numbers:
    """The positions in `pages` between the shares `split` of a random order of all pages, sorted.

    A page belongs to the part that holds its middle: parts that follow each other have no page in common, and together
    all samples. The order depends on `seed` alone.
    """
    first, last = split
    sizes = np.bincount(pages)
    order = np.random.default_rng(seed).permutation(len(sizes))
    middles = np.empty(len(sizes))
    middles[order] = (np.cumsum(sizes[order]) - sizes[order] / 2) / max(1, len(pages))
    return np.flatnonzero(((first <= middles) & (middles < last))[pages])
