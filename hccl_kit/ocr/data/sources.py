"""The files and folders of a `dataset` section, and the share of each that is used."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hccl_kit.base.errors import KitError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
