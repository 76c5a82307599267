"""`train.validation`: the part of the training set that chooses the weights. It is whole sources, never single lines.

A source is what images were cut from, such as a page: lines of one page have one print, one light and often one text,
so a line is easy for a network that has learned from its neighbours.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from hccl_kit.base.errors import KitError
from hccl_kit.base.wording import counted
from hccl_kit.ocr.config import Config
from hccl_kit.ocr.data.lines.line_sources import Lines

Section = Literal["train", "validation", "eval"]
"""The training set without its validation part, that part, and the evaluation set."""
_LEAST_SOURCES = 10
"""With fewer, names do not tell sources apart (word_1.png, word_2.png), and the part is a block of the label file."""


class Parts(NamedTuple):
    """The positions of both parts in the data set, in its order."""

    rest: list[int]
    validation: list[int]


def chosen(samples: Any, config: Config, section: Section) -> Any:
    """Those of `samples`, the Lines or the list of pages of a whole data set, that belong to a section.

    They depend on the names of the images, `train.validation` and `system.seed` alone. Raises KitError if one part of
    the training set would be empty.
    """
    if section == "eval" or not config["train"]["validation"]:
        return samples
    part = config["train"]["validation"]
    parts = divide([sample.path for sample in samples], part, seed=config["system"]["seed"])
    if not parts.rest or not parts.validation:
        raise KitError(
            "ocr.validation.too-few",
            "train.validation {part} of {count} leaves nothing for one of both parts",
            fix="-o train.validation=0, and an evaluation set that is not the test set",
            part=part,
            count=counted(len(samples), "sample"),
        )
    numbers = parts.validation if section == "validation" else parts.rest
    return samples.take(numbers) if isinstance(samples, Lines) else [samples[number] for number in numbers]


def dataset_of(config: Config, section: Section) -> Mapping[str, Any]:
    """The `dataset` section that the samples of a section are read from."""
    dataset: Mapping[str, Any] = config["eval" if section == "eval" else "train"]["dataset"]
    return dataset


def divide(paths: Sequence[Path], part: float, *, seed: int) -> Parts:
    """The images of as many sources as hold the share `part` of all; of a few sources, one block in their order."""
    members: dict[str, list[int]] = defaultdict(list)
    for number, path in enumerate(paths):
        members[source_of(path)].append(number)
    if len(members) < _LEAST_SOURCES:
        members = {str(block): numbers for block, numbers in enumerate(_blocks(len(paths), part))}
    validation: list[int] = []
    for source in sorted(members, key=lambda source: hashlib.sha256(f"{seed} {source}".encode()).digest()):
        if len(validation) >= part * len(paths):
            break
        validation += members[source]
    left = set(validation)
    return Parts([number for number in range(len(paths)) if number not in left], sorted(validation))


def source_of(path: Path) -> str:
    """What an image was cut from, by its name without the number at its end: receipt7 for receipt7_12.png."""
    return str(path.parent / re.sub(r"[-_. ]?[0-9]+$", "", path.stem))


def _blocks(count: int, part: float) -> list[list[int]]:
    size = max(1, round(count * part))
    return [list(range(start, min(count, start + size))) for start in range(0, count, size)]
