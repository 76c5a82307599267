"""What training, evaluation and prediction ask of a task: recognition, detection or classification."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import numpy as np
from mindspore import nn
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.ocr.config import Config
from hccl_kit.ocr.data.loader import Batch, Targets
from hccl_kit.ocr.metrics.counts import Counts
from hccl_kit.runtime.join import World

Warn = Callable[[str], None]


class Task(Protocol):
    """The data side of a model family: its samples, targets, loss, decoding and metric.

    What has a value here is that of a task without a dictionary of characters, whose images all have one size.
    """

    label_transforms: frozenset[str]
    """The transforms of a pipeline that need labels: evaluation and prediction leave them out."""
    dictionary: str = ""
    """SHA-256 of the characters or names that the classes stand for, in order; empty if the network has no classes."""
    characters: str = ""
    """The dictionary of a recogniser, in order; empty if the network reads nothing."""
    texts: Sequence[str] = ()
    """The training texts of a recogniser's language model; empty if it has none."""
    classes: Sequence[str | None] = ()
    """What each class of the network stands for, None the CTC blank; empty if it has no dictionary of characters."""
    counts: type[Counts]
    units: str
    """What its samples are called: `lines` or `pages`."""

    def loss(self) -> nn.Cell:
        """A cell that takes the network's output in training and the targets, and returns a scalar."""

    def train_samples(self, warn: Warn) -> tuple[Sequence[Any], int]:
        """The usable training samples, and the number of the others."""

    def eval_samples(self, warn: Warn) -> Sequence[Any]:
        """The samples that the evaluation counts."""

    def lengths(self, samples: Sequence[Any], world: World, warn: Warn) -> NDArray[np.float32] | None:
        """Sort key for length bucketing (one value per sample); None: random batches.

        Every rank must call it: the ranks may share the work. `warn` gets what the images cannot hold.
        """
        del samples, world, warn
        return None

    def collate(self, rows: Sequence[Any]) -> tuple[NDArray[np.float32], Targets]:
        """The images and the targets of a training batch, from transformed samples."""

    def blank(self, sample: Any) -> Any:
        """The sample with a black image, to replace one that cannot be read."""

    def decode(self, outputs: NDArray[np.float32], samples: Sequence[Any]) -> list[Any]:
        """One prediction for each of `samples`; `outputs` may have more rows."""

    def count(self, sample: Any, prediction: Any) -> Counts:
        """Score one prediction against its ground truth."""

    def mistake(self, sample: Any, prediction: Any) -> str | None:
        """A line with a wrong prediction and its ground truth; None if the prediction is right."""

    def distance(self, counts: Any, prediction: Any) -> float:
        """How far a prediction with these counts is from its ground truth; 0 if it is right."""

    def picture(self, batch: Batch) -> NDArray[np.uint8]:
        """The images of a training batch with their targets: HxWx3, BGR."""

    def comparison(self, predicted: Iterable[tuple[Any, Any]]) -> NDArray[np.uint8]:
        """Samples of an evaluation with prediction and ground truth: HxWx3, BGR."""


def assert_names(config: Config, **needed: str) -> None:
    """Raises KitError if a section has another name than its head needs: `loss="CTCLoss"`. A section may be missing."""
    for section, name in needed.items():
        if section in config and config[section]["name"] != name:
            raise KitError(
                "ocr.task.name",
                "{section}.name is {name}; {name_2} needs {name_3}",
                hint=Message("ocr.task.name.fix", "-o {section}.name={name}", section=section, name=name),
                section=section,
                name=config[section]["name"],
                name_2=config["model"]["head"]["name"],
                name_3=name,
            )


def lacks(section: str, needed: str) -> KitError:
    """The error of the pipeline of a section without a transform that its task needs."""
    return KitError(
        "ocr.task.pipeline-lacks", "{section}.dataset.transform_pipeline lacks {needed}", section=section, needed=needed
    )


def assert_no_line_options(config: Config, task: str) -> None:
    """Raises KitError if a configuration has the options that only recognition supports."""
    if config["train"]["rehearsal"]:
        raise KitError("ocr.task.rehearsal", "train.rehearsal is for text recognition, and this is a {task}", task=task)
    for section, key in (("train", "bucket_widths"), ("train", "stretch"), ("eval", "bucket_widths")):
        if section in config and config[section]["loader"][key]:
            raise KitError(
                "ocr.task.loader-text-recognition",
                "{section}.loader.{key} is for text recognition, and this is a {task}",
                section=section,
                key=key,
                task=task,
            )
