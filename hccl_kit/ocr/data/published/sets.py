"""The published sets that are converted, by the names of MindOCR's converter."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hccl_kit.ocr.data.published import ccpd, docile, json_sets, rows, words, xml_sets
from hccl_kit.ocr.data.published.marked import ILLEGIBLE, Marked

if TYPE_CHECKING:
    from hccl_kit.ocr.data.pages.pages import Page


@dataclass(frozen=True, slots=True)
class PageSet:
    """A set of pages: `read` takes its labels, a folder or a file, and the folder of its images."""

    read: Callable[[Path, Path], Iterator[Page | Marked | str]]
    labels: str = "a folder"
    """What the labels are: a folder, a file, or a folder or a file."""
    illegible: frozenset[str] = frozenset({ILLEGIBLE})
    """Transcriptions that stand for an illegible text."""
    tasks: tuple[str, ...] = ("det", "rec", "cls")


def _icdar(labels: Path, images: Path) -> Iterator[Page | str]:
    from hccl_kit.ocr.data.pages.page_labels import read_folder  # noqa: PLC0415  # after --help

    return read_folder(labels, images)


def _synthtext(labels: Path, images: Path) -> Iterator[Page | str]:
    from hccl_kit.ocr.data.pages.page_labels import read_mat  # noqa: PLC0415  # after --help

    return read_mat(labels, images)


PAGE_SETS: Mapping[str, PageSet] = {
    "ic15": PageSet(_icdar),
    "sroie": PageSet(_icdar, illegible=frozenset({ILLEGIBLE, "***"})),
    "mlt2017": PageSet(rows.mlt2017),
    "td500": PageSet(rows.td500, tasks=("det",)),
    "ctw1500": PageSet(xml_sets.ctw1500),
    "totaltext": PageSet(rows.total_text),
    "synthtext": PageSet(_synthtext, "a file"),
    "textocr": PageSet(json_sets.textocr, "a file"),
    "lsvt": PageSet(json_sets.lsvt, "a file"),
    "rctw17": PageSet(rows.rctw17),
    "casia10k": PageSet(rows.casia10k),
    "ccpd": PageSet(ccpd.read, "a folder or a file"),
    "cocotext-train": PageSet(json_sets.cocotext_train, "a file"),
    "cocotext-val": PageSet(json_sets.cocotext_val, "a file"),
    "svt": PageSet(xml_sets.svt, "a file"),
    "funsd": PageSet(json_sets.funsd),
    "docile": PageSet(docile.words),
    "docile-fields": PageSet(docile.fields, tasks=("rec", "cls")),
    "cute80": PageSet(xml_sets.cute80, "a file", tasks=("det",)),
}
WORD_SETS: Mapping[str, Callable[[Path, Path], Iterator[tuple[str, str] | str]]] = {
    "ic15": words.ic15,
    "cute80": words.cute80,
    "iiit5k": words.iiit5k,
}
"""Sets with a list of cropped words: path and text of each."""
NAMES = tuple(dict.fromkeys([*PAGE_SETS, *WORD_SETS]))


def tasks(name: str) -> tuple[str, ...]:
    """The tasks for which a set has labels."""
    of_pages = PAGE_SETS[name].tasks if name in PAGE_SETS else ()
    return of_pages if name not in WORD_SETS or "rec" in of_pages else (*of_pages, "rec")
