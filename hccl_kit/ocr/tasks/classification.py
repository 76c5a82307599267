"""Classification of lines: an image goes in, the name of a class comes out, such as 180 for a line upside down."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from mindspore import nn
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.ocr import drawing as picture
from hccl_kit.ocr.config import Config
from hccl_kit.ocr.data import loader
from hccl_kit.ocr.data.lines.line_sources import Lines, read_lines
from hccl_kit.ocr.data.loader import Batch, Targets, stack_images
from hccl_kit.ocr.data.samples import TextLine
from hccl_kit.ocr.decode.reading import Reading
from hccl_kit.ocr.losses.cross_entropy import CrossEntropySmooth
from hccl_kit.ocr.metrics.classes import ClassCounts
from hccl_kit.ocr.tasks import recognition
from hccl_kit.ocr.tasks.task import Warn
from hccl_kit.runtime import World

ENCODE = "ClsLabelEncode"


class Classification:
    """The task of a configuration whose network gives a probability for each name in `postprocess.label_list`.

    KitError where these names, the network's classes and the two pipelines do not go together.
    """

    label_steps = frozenset({ENCODE})
    nothing = ClassCounts().to_array()

    def __init__(self, config: Config) -> None:
        self.config = config
        self.labels = labels_of(config)
        self.dictionary = hashlib.sha256("\n".join(self.labels).encode()).hexdigest()
        recognition.image_width(config, None)
        loader.assert_not_of_lines(config["train"]["loader"], "classification")

    def loss(self) -> nn.Cell:
        """Cross-entropy."""
        return CrossEntropySmooth(**{key: value for key, value in self.config["loss"].items() if key != "name"})

    def train_samples(self, warn: Warn) -> tuple[Lines, int]:
        """The lines of a known class and the number of others."""
        rows = read_lines(self.config["train"]["dataset"])
        known = self._known(rows, warn)
        return known, len(rows) - len(known)

    def eval_samples(self, warn: Warn) -> Lines:
        """The lines of a known class."""
        return self._known(read_lines(self.config["eval"]["dataset"]), warn)

    def lengths(self, samples: Sequence[TextLine], world: World) -> None:
        """All images have one size."""
        del samples, world

    def collate(self, rows: Sequence[TextLine]) -> tuple[NDArray[np.float32], Targets]:
        """Images (N, 3, H, W) and the numbers of their classes (N,) int32."""
        return stack_images(rows), (np.array([row.label[0] for row in rows], np.int32),)

    def blank(self, sample: TextLine) -> TextLine:
        """The line with a black image."""
        return recognition.blank(sample)

    def decode(self, outputs: NDArray[np.float32], samples: Sequence[TextLine]) -> list[Reading]:
        """From probabilities (N, classes) to the names of the likeliest ones."""
        return [Reading(self.labels[row.argmax()], float(row.max())) for row in outputs[: len(samples)]]

    def count(self, sample: TextLine, found: Reading) -> ClassCounts:
        """The counts of one image."""
        return ClassCounts(1.0, float(sample.text == found.text))

    def mistake(self, sample: TextLine, found: Reading) -> str | None:
        """Path, truth and what was found, with a TAB between; None where it is right."""
        return None if sample.text == found.text else f"{sample.path}\t{sample.text}\t{found.text}"

    def picture(self, batch: Batch) -> NDArray[np.uint8]:
        """Every line with the name of its class."""
        return picture.draw(
            [
                picture.Row(picture.visible(image), self.labels[row.label[0]], 1.0)
                for image, row in zip(batch.images, batch.samples, strict=True)
            ]
        )

    def total(self, sums: NDArray[np.float32]) -> ClassCounts:
        """Back from the all-reduce."""
        return ClassCounts.from_array(sums)

    def _known(self, rows: Lines, warn: Warn) -> Lines:
        known = [number for number, row in enumerate(rows) if row.text in self.labels]
        if not known:
            raise KitError(f"no label is one of {', '.join(self.labels)}; the first is {rows[0].text[:40]!r}")
        if len(known) < len(rows):
            odd = next(row for row in rows if row.text not in self.labels)
            warn(f"{len(rows) - len(known)} of {len(rows)} labels are left out: {odd.path}: {odd.text[:40]!r}")
        return rows.take(known)


def labels_of(config: Config) -> tuple[str, ...]:
    """The names of the classes, checked against the network's and those of the labels."""
    labels: tuple[str, ...] = tuple(config["postprocess"]["label_list"])
    classes = config["model"]["head"]["num_classes"]
    if classes != len(labels):
        raise KitError(
            f"model.head.num_classes is {classes}, and postprocess.label_list has {len(labels)} names",
            hint=f"set num_classes to {len(labels)}",
        )
    steps = {name: options or {} for row in _train_steps(config) for name, options in row.items()}
    if ENCODE not in steps:
        raise KitError(f"train.dataset.transform_pipeline lacks {ENCODE}")
    if tuple(steps[ENCODE]["label_list"]) != labels:
        raise KitError(f"{ENCODE} and postprocess have different label_lists")
    return labels


def _train_steps(config: Config) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = config["train"]["dataset"]["transform_pipeline"]
    return steps
