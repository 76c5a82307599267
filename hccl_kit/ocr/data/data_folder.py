"""`-o data=FOLDER`: a folder of images and their labels, as the data sets of a configuration; and `eval.guard`.

The latter are data sets beside `eval.dataset`, which show what a network forgets while it learns another.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.ocr.config import Config, layers
from hccl_kit.ocr.config.yaml_text import value_at
from hccl_kit.ocr.data.samples import read_labels
from hccl_kit.ocr.data.synthetic import RENDERED

KEY = "data="
TRAIN, TEST = "train_gt.txt", "test_gt.txt"
TEST_SHARE, VALIDATION_SHARE = 0.2, 0.1
"""The share of all pages that is the test split, if the folder has one file of labels; that of the others to validate.
"""
NARROWEST, WIDEST, STEP = 320, 1280, 64
CHARACTER, WIDE_CHARACTER = 24, 48
"""Pixels of a character in a line 48 pixels high; Chinese and full-width ones are as wide as high."""


def expanded(overrides: Sequence[str], config: Path) -> list[str]:
    """The overrides, with what each `data=FOLDER` stands for in front: other keys given with it replace that.

    They are of the file `config`. Raises KitError if the folder has no labels, or not the images that they name.
    """
    folders = [Path(override.removeprefix(KEY)) for override in overrides if override.startswith(KEY)]
    values = layers.read(config).values if folders else {}
    others = [override for override in overrides if not override.startswith(KEY)]
    return [*(f"{key}={json.dumps(value)}" for folder in folders for key, value in _meaning(folder, values)), *others]


def line_width(labels: Sequence[str]) -> int:
    """The width of images of 48 pixels in height that holds the longest of `labels`: a multiple of 64."""
    widths = (sum(WIDE_CHARACTER if _is_wide(character) else CHARACTER for character in text) for text in labels)
    return min(WIDEST, max(NARROWEST, -(-max(widths) // STEP) * STEP))


def _meaning(folder: Path, values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Keys and values: places of both data sets, their split, and the sizes that follow from the labels."""
    files = _label_files(folder)
    rows = {file: read_labels(file) for file in files}
    for section, file in (("train", files[0]), ("eval", files[-1])):
        yield f"{section}.dataset.dataset_root", str(folder)
        yield f"{section}.dataset.label_file", file.name
        yield f"{section}.dataset.data_dir", image_folder(folder, file, rows[file][0][0])
        split = {"train": [0, 1 - TEST_SHARE], "eval": [1 - TEST_SHARE, 1]}[section] if len(files) == 1 else None
        yield f"{section}.dataset.split", split
    yield "train.validation", VALIDATION_SHARE
    texts = [text for of_file in rows.values() for _, text in of_file]
    if value_at(values, ("common", "line_width")) is not None:
        yield "common.line_width", line_width(texts)
        yield "common.max_text_len", max(1, *map(len, texts))


def _label_files(folder: Path) -> list[Path]:
    """The labels to train and those to test, or one file with all."""
    if not folder.is_dir():
        raise KitError("ocr.data-folder.none", "-o data={folder}: there is no folder of this name", folder=folder)
    both = [folder / TRAIN, folder / TEST]
    if all(file.is_file() for file in both):
        return both
    files = sorted(folder.glob("*.txt"))
    if len(files) != 1:
        raise KitError(
            "ocr.data-folder.labels",
            "-o data={folder}: expected one file of labels, NAME.txt, or {train} and {test}; it has {names}",
            fix="write a file of lines path TAB text into it, paths from {folder}",
            folder=folder,
            train=TRAIN,
            test=TEST,
            names=", ".join(file.name for file in files[:5]) or Message("ocr.data-folder.no-labels", "no .txt file"),
        )
    return files


def image_folder(folder: Path, labels: Path, first: str) -> str:
    """Where the images of a label file are: in the folder itself, or in train and test as render-words has them.

    `first` is the image that it names first. Raises KitError if that is in neither.
    """
    places = [".", labels.stem.removesuffix("_gt")]
    for place in places:
        if (folder / place / first).is_file():
            return place
    raise KitError(
        "ocr.data-folder.images",
        "there is no image {first} in {folder}, the first that {labels} names",
        fix="paths in it are from {folder}, or from its subfolder {place}",
        folder=folder,
        first=first,
        labels=labels.name,
        place=places[1],
    )


def _is_wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in "WF"


def guards(config: Config) -> dict[str, Config]:
    """The configuration that evaluates each set of `eval.guard`, by the name that it has there.

    Raises KitError if a file of labels, or the image that it names first, is not there.
    """
    given = config["eval"]["guard"] if "eval" in config else None
    names = [given] if isinstance(given, str) else given or []
    return {name: config.evaluating(_dataset(config, name)) for name in names}


def _dataset(config: Config, name: str) -> Mapping[str, Any]:
    """The data set that a name of `eval.guard` stands for."""
    whole = {**config["eval"]["dataset"], "split": None, "sample_ratio": 1.0}
    if name == RENDERED:
        if config["model"]["type"] != "rec":
            raise KitError(
                "ocr.guard.rendered",
                "eval.guard is {rendered}: rendered lines are for text recognition, and model.type is {type}",
                fix="name files of labels, or null",
                rendered=RENDERED,
                type=config["model"]["type"],
            )
        return {**whole, "type": RENDERED}
    labels = Path(name)
    try:
        images = image_folder(labels.parent, labels, read_labels(labels)[0][0])
    except KitError as error:
        raise KitError("ocr.guard.labels", "eval.guard: {reason}", hint=error.hint, reason=error.message) from error
    places = {"dataset_root": str(labels.parent), "data_dir": images, "label_file": labels.name}
    return {**whole, **places, "type": KINDS[config["model"]["type"]]}


KINDS = {"det": "DetDataset", "rec": "RecDataset", "cls": "RecDataset"}
"""The type of a data set with a file of labels, by `model.type`."""
