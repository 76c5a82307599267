"""The files of a `dataset` section, samples between data set and network, and the label files of text recognition."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from hccl_kit.base.bounded_file import read_text
from hccl_kit.base.errors import KitError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_BYTES = 1 << 30
S = TypeVar("S", bound="Sample")


@dataclass(frozen=True, slots=True)
class Sample:
    """An image with the path that names it.

    `image` is None until it is decoded, then HxWxC (uint8, later float32) and finally CxHxW. `data` returns the encoded
    bytes if they are not in a file at `path` but in a database. `others` are the samples of the training set, so that a
    transform may draw more of them; none in an evaluation.
    """

    path: Path
    image: NDArray[Any] | None = None
    data: Callable[[], bytes] | None = field(default=None, kw_only=True, compare=False)
    others: Sequence[Any] = field(default=(), kw_only=True, compare=False, repr=False)

    def reduced(self: S, factor: int) -> S:
        """The sample after `image` was decoded at 1/factor of its size: coordinates in pixels are scaled."""
        del factor
        return self


@dataclass(frozen=True, slots=True)
class TextLine(Sample):
    """An image of one word or line. `label` holds the class numbers of `text`, empty until the label is encoded.

    `columns` is the width of the line in a padded image; None: the whole image. `stretch` multiplies the width that
    resizing to the height would give.
    """

    text: str = ""
    label: tuple[int, ...] = ()
    columns: int | None = None
    stretch: float = 1.0


class BadSampleError(Exception):
    """A sample that cannot be used, with the reason; it is counted and reported, and the run continues."""


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a label file that are not blank, with their numbers, one at a time.

    Only a newline ends a line: `splitlines` would split a text at U+2028 too.
    """
    text = read_text(path, MAX_BYTES)
    number, start = 1, 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        line = text[start:end].removesuffix("\r")
        if line.strip():
            yield number, line
        number, start = number + 1, end + 1


def read_labels(path: Path) -> list[tuple[str, str]]:
    """The image names and texts of a label file. Raises KitError for an invalid line, or if there are no samples."""
    rows = []
    for number, line in numbered_lines(path):
        name, tab, text = line.partition("\t")
        if not tab or not name:
            raise KitError(
                "ocr.samples.expected-path-tab",
                "{path}:{number}: expected path TAB text, found {line!r}",
                fix="separate the path of the image and its text by a tab character, not by spaces or a comma",
                path=path,
                number=number,
                line=line[:60],
            )
        rows.append((name, text))
    if not rows:
        raise KitError("ocr.samples.label-file-holds", "the label file {path} holds no samples", path=path)
    return rows


MAX_REGIONS, MAX_CORNERS = 10_000, 256
MAX_COORDINATE = 1 << 20
"""Larger than any image that OpenCV reads; polygon arithmetic fails beyond it."""


LMDB = "LMDBDataset"


def sources(dataset: Mapping[str, Any]) -> list[tuple[Path, Path, float]]:
    """Labels, image folder and share of each part of a data set; in LMDB both are one folder.

    Raises KitError if one is missing. Only existence is checked, without numpy: before anything heavy is loaded.
    """
    root, kind = Path(dataset["dataset_root"]), "data_dir" if dataset.get("type") == LMDB else "label_file"
    folders = _as_list(dataset["data_dir"])
    labels = _as_list(dataset[kind])
    ratios = _as_list(dataset.get("sample_ratio", 1.0))
    if not {len(folders), len(ratios)} <= {1, len(labels)}:
        raise KitError(
            "ocr.sources.label-file-data",
            "{count} label_file, {count_2} data_dir and {count_3} sample_ratio differ in number",
            fix="give each label_file its own, or one to all of them",
            count=len(labels),
            count_2=len(folders),
            count_3=len(ratios),
        )
    folders, ratios = (values * len(labels) if len(values) == 1 else values for values in (folders, ratios))
    if kind == "label_file" and "" in labels:
        raise KitError(
            "ocr.sources.label-file-empty",
            "label_file is empty",
            fix="name it below {root}, such as train_gt.txt, or . for the folder itself",
            root=root,
        )
    parts = [(root / label, root / folder, ratio) for label, folder, ratio in zip(labels, folders, ratios, strict=True)]
    for label, folder, _ in parts:
        if not label.exists():
            raise KitError(
                "ocr.sources.no-label-file",
                "there is no label file or folder {label}",
                fix="set dataset_root, data_dir and label_file; hccl-kit render-words makes a first data "
                "set, hccl-kit convert-dataset converts published ones",
                label=label,
            )
        if not folder.is_dir():
            raise KitError("ocr.sources.data-dir-not", "data_dir {folder} is not a folder", folder=folder)
    return parts


def are_there(dataset: Mapping[str, Any]) -> bool:
    """Whether `sources` finds all files and folders of a `dataset` section."""
    try:
        return bool(sources(dataset))
    except KitError:
        return False


def share(count: int, ratio: float) -> NDArray[np.int64]:
    """The share `ratio` of the numbers below `count`, evenly spaced: the same on every rank and in every run.

    With 2.5 every number appears twice, and every second one a third time.
    """
    import numpy as np  # noqa: PLC0415  # see above

    steps = np.floor(np.arange(count + 1) * ratio + 1e-9).astype(np.int64)
    return np.repeat(np.arange(count), np.diff(steps))


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else [value]
