"""Reading images that nobody labelled: find them, read them, show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import cv2
import numpy as np
from mindspore import Tensor, nn

from hccl_kit.atomic_file import write_atomically
from hccl_kit.errors import KitError
from hccl_kit.ocr import picture, recipes
from hccl_kit.ocr.config import Config
from hccl_kit.ocr.data import loader
from hccl_kit.ocr.data.pipeline import pipeline
from hccl_kit.ocr.data.samples import TextLine, read_labels
from hccl_kit.ocr.decode.ctc import Reading

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp")


@dataclass(frozen=True, slots=True)
class Prediction:
    """An image and its reading; `truth` where it is known, `fault` where the image could not be read."""

    path: Path
    reading: Reading
    truth: str | None = None
    fault: str | None = None


def find_images(paths: Sequence[Path], *, labels: Path | None = None, limit: int | None = None) -> list[TextLine]:
    """The images among `paths`, folders taken apart, in order of their names; at most `limit`.

    `labels` gives the texts of images by the end of their path; the text of the others is empty.
    """
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found += sorted(inner for inner in path.iterdir() if inner.suffix.lower() in SUFFIXES)
        elif path.is_file():
            found.append(path)
        else:
            raise KitError(f"there is no image or folder {path}")
    if not found:
        raise KitError(f"no images in {', '.join(map(str, paths))}", hint=f"accepted: {' '.join(SUFFIXES)}")
    truths = dict(read_labels(labels)) if labels else {}
    return [TextLine(path, text=_truth_of(path, truths)) for path in found[:limit]]


def read(config: Config, network: nn.Cell, samples: Sequence[TextLine]) -> list[Prediction]:
    """The reading of every sample, in order; an image that cannot be read says so and stops nothing."""
    section = config["eval"]
    task = recipes.task(config)
    transform = pipeline(section["dataset"]["transform_pipeline"], without=task.label_steps)
    size = section["loader"]["batch_size"]
    tasks = [np.arange(start, min(start + size, len(samples))) for start in range(0, len(samples), size)]
    make = partial(loader.eval_batch, samples, transform=transform, blank=task.blank, batch_size=size)
    network.set_train(False)
    predictions = []
    for batch in loader.prefetch(tasks, make, section["loader"]["num_workers"]):
        faults = {sample.path: reason for sample, reason in batch.bad}
        readings = task.decode(network(Tensor(batch.images)).asnumpy(), batch.samples)
        for sample, reading in zip(batch.samples, readings, strict=True):
            predictions.append(Prediction(sample.path, reading, sample.text or None, faults.get(sample.path)))
    return predictions


def write_picture(path: Path, predictions: Sequence[Prediction]) -> None:
    """A PNG with a line for each of the first predictions."""
    rows = []
    for prediction in predictions[: picture.MAX_ROWS]:
        image = cv2.imdecode(np.fromfile(prediction.path, np.uint8), cv2.IMREAD_COLOR) if not prediction.fault else None
        shown = np.zeros((32, 100, 3), np.uint8) if image is None else image
        rows.append(picture.Row(shown, prediction.reading.text, prediction.reading.confidence, prediction.truth))
    done, data = cv2.imencode(".png", picture.draw(rows))
    assert done
    write_atomically(path, data.tobytes())


def _truth_of(path: Path, truths: Mapping[str, str]) -> str:
    """The text of the longest end of `path` that the label file names."""
    ends = (Path(*path.parts[start:]).as_posix() for start in range(len(path.parts)))
    return next((truths[end] for end in ends if end in truths), "")
