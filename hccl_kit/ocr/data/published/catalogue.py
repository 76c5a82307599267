"""All published data sets that can be converted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from hccl_kit.ocr.data.pages.page_labels import read_folder
from hccl_kit.ocr.data.pages.pages import Page
from hccl_kit.ocr.data.pages.synth_text import read_mat
from hccl_kit.ocr.data.published import page_files, plates, set_files, word_lists


class DataSet(NamedTuple):
    """How a data set is read. With `words` a label file can be a list of words that are cut out already."""

    pages: Callable[[Path, Path], Iterator[Page | str]] | None = None
    words: Callable[[Path], word_lists.Rows] | None = None
    hidden: frozenset[str] = frozenset({"###"})
    """What stands for a text that cannot be read."""
    in_one_file: bool = False
    """The labels of all pages are one file, or (CCPD) may be."""
    has_texts: bool = True


DATA_SETS = {
    "ic15": DataSet(read_folder, word_lists.ic15),
    "sroie": DataSet(read_folder, hidden=frozenset({"###", "***"})),
    "casia10k": DataSet(page_files.casia10k),
    "ccpd": DataSet(plates.ccpd, in_one_file=True),
    "cocotext": DataSet(set_files.coco_text, in_one_file=True),
    "ctw1500": DataSet(page_files.ctw1500),
    "funsd": DataSet(page_files.funsd),
    "iiit5k": DataSet(words=word_lists.iiit5k),
    "lsvt": DataSet(set_files.lsvt, in_one_file=True),
    "mlt2017": DataSet(page_files.mlt2017),
    "rctw17": DataSet(page_files.rctw17),
    "svt": DataSet(set_files.svt, in_one_file=True),
    "synthtext": DataSet(read_mat, in_one_file=True),
    "td500": DataSet(page_files.td500, has_texts=False),
    "textocr": DataSet(set_files.text_ocr, hidden=frozenset({"."}), in_one_file=True),
    "totaltext": DataSet(page_files.total_text, hidden=frozenset({"#", "###"})),
}
