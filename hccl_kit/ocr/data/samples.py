"""Samples of text recognition: an image and its text, named by a label file of lines `path TAB text`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hccl_kit.bounded_file import read_text
from hccl_kit.errors import KitError

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class Sample:
    """One word image on its way through the transforms.

    `image` is None until it is decoded, then HxWxC (uint8, later float32) or, at the end, CxHxW; `label` holds the
    class numbers of `text`, empty until the label is encoded.
    """

    path: Path
    text: str
    image: NDArray[Any] | None = None
    label: tuple[int, ...] = ()


class BadSampleError(Exception):
    """A sample that cannot be used, with the reason; it is counted and named, and the run goes on."""


def read_label_file(dataset: dict[str, Any]) -> list[Sample]:
    """The samples of a `dataset` section: `dataset_root/label_file`, paths from `dataset_root/data_dir`."""
    path, folder = find(dataset)
    return [Sample(folder / name, text) for name, text in read_labels(path)]


def find(dataset: dict[str, Any]) -> tuple[Path, Path]:
    """The label file and the folder of the images of a `dataset` section; KitError where one is not there."""
    root = Path(dataset["dataset_root"])
    path, folder = root / dataset["label_file"], root / dataset["data_dir"]
    if not path.exists():
        raise KitError(
            f"there is no label file {path}",
            hint="set dataset_root, data_dir and label_file; python tools/render_words.py makes a set to start with",
        )
    if not folder.is_dir():
        raise KitError(f"data_dir {folder} is not a folder")
    return path, folder


def read_labels(path: Path) -> list[tuple[str, str]]:
    """The image names and texts of a label file, at least one; KitError names the line that is none."""
    rows = []
    for number, line in enumerate(read_text(path, MAX_BYTES).split("\n"), 1):  # splitlines would break at U+2028 too
        name, tab, text = line.removesuffix("\r").partition("\t")
        if not line.strip():
            continue
        if not tab or not name:
            raise KitError(f"{path}:{number}: expected path TAB text, found {line.rstrip()[:60]!r}")
        rows.append((name, text))
    if not rows:
        raise KitError(f"the label file {path} holds no samples")
    return rows
