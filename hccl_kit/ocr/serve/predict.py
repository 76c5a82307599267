"""Prediction on unlabelled images: lines of text, pages, or the lines of pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from mindspore import nn
from numpy.typing import NDArray

from hccl_kit.base.atomic_file import write_atomically
from hccl_kit.ocr import drawing
from hccl_kit.ocr.config import DECODING, UPSIDE_DOWN, Config
from hccl_kit.ocr.data.lines.crop import crop_line, quad
from hccl_kit.ocr.data.pages.pages import Page
from hccl_kit.ocr.data.samples import BadSampleError, Sample, TextLine, read_labels
from hccl_kit.ocr.data.transforms import decode_image, image_of
from hccl_kit.ocr.decode.boxes import Box
from hccl_kit.ocr.decode.reading import Reading
from hccl_kit.ocr.infer.inference import Inference, Runner, in_order
from hccl_kit.ocr.serve.pages import PageOfText, Region, rounded
from hccl_kit.ocr.tasks import recipes
from hccl_kit.ocr.tasks.line_images import BLANK

Trained = tuple[Inference, nn.Cell | Runner]
"""An inference, and the network with its weights."""
SURE = 0.9
"""The probability of lying upside down from which a line is turned."""


@dataclass(frozen=True, slots=True)
class Line:
    """The reading of a line, its ground truth if known, and an error if its image could not be used."""

    path: Path
    reading: Reading
    truth: str | None = None
    error: str | None = None

    def fields(self) -> list[str]:
        """Path, text, confidence and, if known, the ground truth; text and confidence are empty after an error."""
        shown = ["", ""] if self.error else [self.reading.text, f"{self.reading.confidence:.3f}"]
        return [str(self.path), *shown, *([] if self.truth is None else [self.truth])]

    def row(self) -> dict[str, Any]:
        """The same for a JSON file, with the key `error` after an error."""
        row: dict[str, Any] = {"path": str(self.path)}
        if self.error:
            row |= {"text": None, "confidence": None, "error": self.error}
        else:
            row |= {"text": self.reading.text, "confidence": rounded(self.reading.confidence)}
        return row if self.truth is None else {**row, "truth": self.truth}


def lines_of(paths: Sequence[Path], labels: Path | None) -> list[TextLine]:
    """The images as lines; `labels` names images by the end of their path, a line without a label has an empty text."""
    rows = dict(read_labels(labels)) if labels else {}
    return [TextLine(path, text=_truth_of(path, rows)) for path in paths]


def inference_of(config: Config) -> Inference:
    """The inference of a configuration."""
    return Inference(recipes.task(config), config["eval"])


def read_lines(inference: Inference, network: nn.Cell | Runner, lines: Sequence[TextLine]) -> Iterator[Line]:
    """The reading of every line, in order."""
    predicted = chain.from_iterable(inference.batches(network, lines))
    return in_order(
        (
            prediction.number,
            Line(prediction.sample.path, prediction.value, prediction.sample.text or None, prediction.error),
        )
        for prediction in predicted
    )


def find_texts(inference: Inference, network: nn.Cell | Runner, paths: Sequence[Path]) -> Iterator[PageOfText]:
    """The texts of every page, in order."""
    for predictions in inference.batches(network, [Page(path) for path in paths]):
        for prediction in predictions:
            yield PageOfText(
                prediction.sample.path, () if prediction.error else in_reading_order(prediction.value), prediction.error
            )


def read_texts(reader: Trained, page: PageOfText, image: NDArray[np.uint8], turner: Trained | None) -> PageOfText:
    """The page with the readings of its regions; `image` is that of `page_image`.

    Lines that `turner`, a classifier, finds to lie upside down are rotated first.
    """
    lines = [_cut(page.path, number, region.box, image) for number, region in enumerate(page.regions, 1)]
    if lines and turner is not None:
        directions = read_lines(*turner, lines)
        lines = [
            _turned(line) if _is_upside_down(direction) else line
            for line, direction in zip(lines, directions, strict=True)
        ]
    readings = read_lines(*reader, lines) if lines else ()
    regions = (replace(region, reading=line.reading) for region, line in zip(page.regions, readings, strict=True))
    return replace(page, regions=tuple(regions))


def _is_upside_down(direction: Line) -> bool:
    return direction.reading.text == UPSIDE_DOWN and direction.reading.confidence >= SURE


def _turned(line: TextLine) -> TextLine:
    image = image_of(decode_image()(line, np.random.default_rng(0)))
    return _encoded(line.path, cv2.rotate(image, cv2.ROTATE_180))


def page_image(config: Config, path: Path) -> NDArray[np.uint8]:
    """The image HxWx3, BGR, in the orientation that the pipeline of this detector gives it, so that its boxes fit.

    Raises BadSampleError if the pipeline would reject it.
    """
    options = next((options for name, options in config.transforms("eval") if name in DECODING), {})
    decode = decode_image(**{key: options[key] for key in ("ignore_orientation", "max_pixels") if key in options})
    return image_of(decode(Sample(path), np.random.default_rng(0)))


def write_lines(path: Path, lines: Sequence[Line], config: Config) -> None:
    """A picture of the first lines with their readings, decoded as in the pipeline of this configuration."""
    rows = []
    for line in lines[: drawing.MAX_ROWS]:
        try:
            shown = page_image(config, line.path)
        except BadSampleError:  # the results report the error
            shown = BLANK
        rows.append(drawing.Row(shown, line.reading.text, line.reading.confidence, line.truth))
    write_atomically(path, drawing.encoded(drawing.draw(rows), path.suffix.lower()))


def _cut(path: Path, number: int, box: Box, image: NDArray[np.uint8]) -> TextLine:
    """A region as an encoded image, for the pipeline of the recogniser."""
    return _encoded(Path(f"{path}#{number}"), crop_line(image, quad(box.points)))


def _encoded(path: Path, image: NDArray[Any]) -> TextLine:
    data = drawing.encoded(image)
    return TextLine(path, data=lambda: data)


def in_reading_order(boxes: Sequence[Box]) -> tuple[Region, ...]:
    """Regions in rows from top to bottom, each row from left to right.

    A box belongs to a row if its centre lies within half the height of the row's first box.
    """
    rows: list[list[Box]] = []
    for box in sorted(boxes, key=lambda box: float(box.points[:, 1].mean())):
        first = rows[-1][0].points if rows else None
        if first is not None and box.points[:, 1].mean() - first[:, 1].mean() < np.ptp(first[:, 1]) / 2:
            rows[-1].append(box)
        else:
            rows.append([box])
    return tuple(Region(box) for row in rows for box in sorted(row, key=lambda box: float(box.points[:, 0].min())))


def _truth_of(path: Path, rows: Mapping[str, str]) -> str:
    """The text of the longest end of `path` in the label file; empty if there is none."""
    ends = (Path(*path.parts[start:]).as_posix() for start in range(len(path.parts)))
    return next((rows[end] for end in ends if end in rows), "")
