"""A page read by three networks: where texts are, which lie upside down, and what they say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from hccl_kit.ocr.charset import Charset
from hccl_kit.ocr.data.lines.crop import crop_line
from hccl_kit.ocr.decode.reading import Reading, ctc_readings
from hccl_kit.ocr.reader import page
from hccl_kit.ocr.reader.page import Image, detector_input, prepared, text_boxes

DETECTOR, CLASSIFIER, RECOGNISER = "rapidocr:det", "rapidocr:cls", "rapidocr:rec"
"""The sources of the weights, see `hccl_kit.ocr.rapidocr`."""
Run = Callable[[NDArray[np.float32]], NDArray[np.float32]]
"""A network: images (N, 3, H, W) to its output."""
SURE = 0.9
"""The probability of lying upside down above which a line is turned."""
TRUSTED = 0.5
"""Readings with less confidence are left out."""


class Networks(NamedTuple):
    """What reads a page."""

    detect: Run
    """From images to the probability of text (N, 1, H, W)."""
    direct: Run
    """From images to the probabilities (N, 2) of lying upright and upside down."""
    recognise: Run
    """From images to probabilities (N, T, classes)."""
    charset: Charset
    blank_first: bool = False
    """Whether the CTC blank is the first class, as in PaddleOCR's files, and not the last."""
    at_once: int = 1
    """Pages that may be read at the same time, by as many threads."""


class Text(NamedTuple):
    """A text of a page."""

    points: NDArray[np.float32]
    """Corners (4, 2) in pixels of the image, clockwise from the upper left one."""
    score: float
    """Score of the detection, from 0 to 1."""
    reading: Reading


def read(networks: Networks, image: Image) -> list[Text]:
    """The texts of an image in reading order. Raises BadSampleError if it is not a page, see `prepared`."""
    page = prepared(image)
    boxes = text_boxes(networks.detect(detector_input(page.image)), page.image)
    cuts = [np.asarray(crop_line(page.image, box.points), np.uint8) for box in boxes]
    readings = recognised(networks, upright(networks.direct, cuts))
    return [
        Text(page.to_source(box.points), box.score, reading)
        for box, reading in zip(boxes, readings, strict=True)
        if reading.text.strip() and reading.confidence >= TRUSTED
    ]


def upright(direct: Run, cuts: Sequence[Image]) -> list[Image]:
    """The lines, with those that lie upside down rotated by 180 degrees."""
    turned = list(cuts)
    for batch in page.batches(cuts, width=page.DIRECTION_WIDTH):
        for number, share in zip(batch.numbers, direct(batch.images)[:, 1], strict=True):
            if share > SURE:
                turned[number] = np.asarray(cv2.rotate(cuts[number], cv2.ROTATE_180), np.uint8)
    return turned


def recognised(networks: Networks, cuts: Sequence[Image]) -> list[Reading]:
    """The reading of each line."""
    readings = [Reading("", 0.0)] * len(cuts)
    for batch in page.batches(cuts):
        probabilities = networks.recognise(batch.images)
        of_batch = ctc_readings(probabilities, networks.charset, blank_first=networks.blank_first)
        for number, reading in zip(batch.numbers, of_batch, strict=True):
            readings[number] = reading
    return readings
