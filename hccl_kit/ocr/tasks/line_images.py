"""The images that the pipelines of a line task make: their size, the widths of their length buckets, their picture."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.ocr import drawing
from hccl_kit.ocr.config import Config
from hccl_kit.ocr.data.loader import Batch
from hccl_kit.ocr.data.samples import TextLine
from hccl_kit.ocr.data.transforms import RESIZE_FOR_INFERENCE, image_of, pixel_format
from hccl_kit.ocr.decode.reading import Reading
from hccl_kit.ocr.tasks.task import Task, lacks

RESIZES = ("RecResizeImg", "SVTRRecResizeImg")
BLANK = np.zeros((32, 100, 3), np.uint8)
"""Replaces an image that cannot be read."""


class LineTask(Task):
    """What recognition and classification have in common."""

    config: Config
    units = "lines"

    def blank(self, sample: TextLine) -> TextLine:
        """The line with a black image."""
        return replace(sample, image=BLANK)

    def labelled(self, batch: Batch, texts: Sequence[str]) -> drawing.Image:
        """A picture of a batch from the pipeline of the training, with a text for each line."""
        pixels = pixel_format(self.config.transforms("train"))
        return drawing.draw_labels([pixels.restored(image) for image in batch.images], texts)

    def comparison(self, predicted: Iterable[tuple[TextLine, Reading]]) -> drawing.Image:
        """A picture of lines from the pipeline of the evaluation, with reading and truth."""
        pixels = pixel_format(self.config.transforms("eval"))
        return drawing.draw(
            [
                drawing.Row(
                    pixels.restored(image_of(line))[:, : line.columns], reading.text, reading.confidence, line.text
                )
                for line, reading in predicted
            ]
        )


def image_width(config: Config, height: int | None) -> int:
    """The width of the images. Raises KitError if the two pipelines do not make images of one size, or of `height`."""
    train, evaluation = (image_shape(config, section) for section in ("train", "eval"))
    if train != evaluation:
        raise KitError(
            "ocr.line-images.images-train-eval",
            "images are {train} in train and {evaluation} in eval",
            fix="see image_shape of the resizing",
            train=train,
            evaluation=evaluation,
        )
    if height not in (None, train[0]):
        name = config["model"]["backbone"]["name"]
        raise KitError(
            "ocr.line-images.images",
            "images are {train}; {name} takes images {height} high",
            fix="image_shape: [{height}, ...]",
            train=train,
            name=name,
            height=height,
        )
    return train[1]


def image_shape(config: Config, section: str) -> list[int]:
    """Height and width of the images of a pipeline; the largest width if it varies."""
    for name, options in config.transforms(section):
        if name in RESIZES:
            shape: list[int] = options["image_shape"]
            return shape
        if name == RESIZE_FOR_INFERENCE:
            return [options.get(f"target_{side}", size) for side, size in (("height", 32), ("width", 320))]
    raise lacks(section, f"a transform that resizes, such as {RESIZES[0]}")


def pads(config: Config, section: str) -> bool:
    """Whether a line keeps its shape, and is padded on the right, unless it is too long for the images."""
    return any(options.get("padding", name in RESIZES) for name, options in config.transforms(section))


def squeezed(config: Config, aspects: NDArray[np.float32]) -> str | None:
    """How many lines, given by width over height, are too long for the images of the training; None: none is."""
    height, width = image_shape(config, "train")
    too_long = int((aspects * height > width + 1).sum())
    if not too_long:
        return None
    return (
        f"{too_long} of {len(aspects)} lines are squeezed: at a height of {height} they are wider than {width} pixels, "
        f"the widest {aspects.max() * height:.0f}; see target_width or image_shape of the two pipelines"
    )


def bucket_widths(config: Config, section: str, width: int) -> list[int]:
    """The widths below that of the images to which batches of shorter lines are cropped; empty without buckets.

    Raises KitError if bucketing or stretching is on and the pipeline of the section does not pad its lines on the
    right: then there is no padding to crop, and no line that could be stretched.
    """
    loader = config[section]["loader"]
    for key in ("bucket_widths", "stretch"):
        if loader.get(key) and not pads(config, section):
            raise KitError(
                "ocr.line-images.loader-needs-resizing",
                "{section}.loader.{key} needs a resizing with padding: True",
                section=section,
                key=key,
            )
    return sorted(bucket for bucket in loader["bucket_widths"] or () if bucket < width)
