"""`eval.guard`: data sets beside `eval.dataset`, which show what a network forgets while it learns another."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.config import Config
from hccl_kit.ocr.data.data_folder import image_folder
from hccl_kit.ocr.data.samples import read_labels
from hccl_kit.ocr.data.synthetic import RENDERED


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
