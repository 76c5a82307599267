"""Classification of lines: from an image to the name of its class, such as 180 for a line that lies upside down."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from mindspore import nn
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.config import Config, options_of
from hccl_kit.ocr.data.lines.line_sources import Lines, read_lines
from hccl_kit.ocr.data.loader import Batch, Targets, stack_images
from hccl_kit.ocr.data.samples import TextLine
from hccl_kit.ocr.decode.reading import Reading
from hccl_kit.ocr.losses.lines import CrossEntropySmooth
from hccl_kit.ocr.metrics.counts import Counts
from hccl_kit.ocr.metrics.lines import ClassCounts
from hccl_kit.ocr.tasks import line_images
from hccl_kit.ocr.tasks.task import Warn, assert_no_line_options, lacks

ENCODE = "ClsLabelEncode"


class Classification(line_images.LineTask):
    """The task of a configuration whose network gives a probability for each name in `postprocess.label_list`.

    Raises KitError if these names, the classes of the network and the two pipelines do not fit together.
    """

    label_transforms = frozenset({ENCODE})
    counts: type[Counts] = ClassCounts

    def __init__(self, config: Config) -> None:
        self.config = config
        self.labels = labels_of(config)
        self.dictionary = hashlib.sha256("\n".join(self.labels).encode()).hexdigest()
        line_images.image_width(config, None)
        assert_no_line_options(config, "classification")

    def loss(self) -> nn.Cell:
        """Cross-entropy."""
        return CrossEntropySmooth(**options_of(self.config["loss"]))

    def train_samples(self, warn: Warn) -> tuple[Lines, int]:
        """The lines of a known class and the number of the others."""
        rows = read_lines(self.config.training_set)
        known = self._known(rows, warn)
        return known, len(rows) - len(known)

    def eval_samples(self, warn: Warn) -> Lines:
        """The lines of a known class."""
        return self._known(read_lines(self.config["eval"]["dataset"]), warn)

    def collate(self, rows: Sequence[TextLine]) -> tuple[NDArray[np.float32], Targets]:
        """Images (N, 3, H, W) and the numbers of their classes (N,) int32."""
        return stack_images(rows), (np.array([row.label[0] for row in rows], np.int32),)

    def decode(self, outputs: NDArray[np.float32], samples: Sequence[TextLine]) -> list[Reading]:
        """From probabilities (N, classes) to the names of the likeliest classes."""
        return [Reading(self.labels[row.argmax()], float(row.max())) for row in outputs[: len(samples)]]

    def count(self, sample: TextLine, prediction: Reading) -> ClassCounts:
        """The counts of one image."""
        return ClassCounts(1.0, float(sample.text == prediction.text))

    def mistake(self, sample: TextLine, prediction: Reading) -> str | None:
        """`path TAB truth TAB prediction`; None if the prediction is right."""
        return None if sample.text == prediction.text else f"{sample.path}\t{sample.text}\t{prediction.text}"

    def distance(self, counts: ClassCounts, prediction: Reading) -> float:
        """The confidence of a wrong prediction; 0 if it is right."""
        return (1 - counts.right) * prediction.confidence

    def picture(self, batch: Batch) -> NDArray[np.uint8]:
        """Every line with the name of its class."""
        return self.labelled(batch, [self.labels[row.label[0]] for row in batch.samples])

    def _known(self, rows: Lines, warn: Warn) -> Lines:
        known = [number for number, row in enumerate(rows) if row.text in self.labels]
        if not known:
            raise KitError(
                "ocr.classification.no-label",
                "no label is one of {labels}; the first is {text!r}",
                labels=", ".join(self.labels),
                text=rows[0].text[:40],
            )
        if len(known) < len(rows):
            unknown = next(row for row in rows if row.text not in self.labels)
            warn(f"{len(rows) - len(known)} of {len(rows)} labels are left out: {unknown.path}: {unknown.text[:40]!r}")
        return rows.take(known)


def labels_of(config: Config) -> tuple[str, ...]:
    """The names of the classes, checked against the classes of the network and the names in the pipeline."""
    labels: tuple[str, ...] = tuple(config["postprocess"]["label_list"])
    classes = config["model"]["head"]["num_classes"]
    if classes != len(labels):
        raise KitError(
            "ocr.classification.model-head-num",
            "model.head.num_classes is {classes}, and postprocess.label_list has {count} names",
            fix="set num_classes to {count}",
            classes=classes,
            count=len(labels),
        )
    transforms = dict(config.transforms("train"))
    if ENCODE not in transforms:
        raise lacks("train", ENCODE)
    if tuple(transforms[ENCODE]["label_list"]) != labels:
        raise KitError(
            "ocr.classification.postprocess-different-label",
            "{encode} and postprocess have different label_lists",
            encode=ENCODE,
        )
    return labels
