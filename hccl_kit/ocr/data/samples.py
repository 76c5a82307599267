"""Samples of text recognition: an image and its text, named by a label file of lines `path TAB text`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from hccl_kit.errors import KitError


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
    root = Path(dataset["dataset_root"])
    path, folder = root / dataset["label_file"], root / dataset["data_dir"]
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise KitError(
            f"cannot read the label file {path}: {error.strerror}",
            hint="set dataset_root, data_dir and label_file; python tools/render_words.py makes a set to start with",
        ) from error
    except UnicodeDecodeError as error:
        raise KitError(f"the label file {path} is not UTF-8: byte {error.start}") from error
    if not folder.is_dir():
        raise KitError(f"data_dir {folder} is not a folder")
    samples = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        name, tab, text = line.partition("\t")
        if not tab or not name:
            raise KitError(f"{path}:{number}: expected path TAB text, found {line[:60]!r}")
        samples.append(Sample(folder / name, text))
    if not samples:
        raise KitError(f"the label file {path} holds no samples")
    return samples
