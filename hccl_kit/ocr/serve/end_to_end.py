"""A detector and a recogniser scored together: the texts of pages that are found and read right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hccl_kit.ocr.config import Config
from hccl_kit.ocr.data.pages.pages import Page
from hccl_kit.ocr.data.samples import TextLine
from hccl_kit.ocr.decode.boxes import Box
from hccl_kit.ocr.metrics.boxes import BoxCounts
from hccl_kit.ocr.metrics.counts import Counts
from hccl_kit.ocr.metrics.lines import WordCounts
from hccl_kit.ocr.serve.pages import PageOfText, Region
from hccl_kit.ocr.serve.predict import Trained, page_image, read_texts
from hccl_kit.ocr.tasks.detection import Detection
from hccl_kit.ocr.tasks.recognition import Recognition
from hccl_kit.runtime.join import World


@dataclass(frozen=True, slots=True)
class EndToEnd:
    """The boxes of all pages, and the words in the boxes that find a text."""

    boxes: BoxCounts
    words: WordCounts

    def __str__(self) -> str:
        """Two lines: read, found and read."""
        both = f"{int(self.both.found)} of {int(self.both.texts)} texts are found and read right"
        return f"of those found: {self.words}\nend to end: {both}, h-mean {self.both.f_score:.2%}"

    def row(self) -> dict[str, dict[str, float]]:
        """The scores of reading and of both."""
        scores = {"recall": self.both.recall, "precision": self.both.precision, "f-score": self.both.f_score}
        return {"read": self.words.row(), "end_to_end": scores}

    @property
    def both(self) -> BoxCounts:
        """The boxes, found only if their text is read right, as in ICDAR 2015 (Karatzas et al. 2015)."""
        boxes = self.boxes.found + self.boxes.false
        return BoxCounts(self.boxes.texts, self.words.right, boxes - self.words.right)


class PageReader:
    """Reads the texts that a detection finds on pages with labels, and counts."""

    def __init__(self, config: Config, task: Detection, reader: Trained, turner: Trained | None) -> None:
        self.config = config
        self.task = task
        self.reader = reader
        self.turner = turner
        self.words = WordCounts()
        """Of the pages read so far."""

    def read(self, page: Page, boxes: Sequence[Box]) -> list[str]:
        """Count the texts of `page` that one of `boxes` finds; a line for each one that is read wrongly.

        Raises BadSampleError if the image cannot be read again.
        """
        box_of_text = self.task.matches(page, boxes).box_of_text
        text_numbers = np.flatnonzero(box_of_text >= 0)
        if not len(text_numbers):
            return []
        regions = tuple(Region(boxes[box]) for box in box_of_text[text_numbers])
        image = page_image(self.config, page.path)
        texts = read_texts(self.reader, PageOfText(page.path, regions), image, self.turner)
        recognition = self.reader[0].task
        assert isinstance(recognition, Recognition)
        misread = []
        for number, region in zip(text_numbers, texts.regions, strict=True):
            assert region.reading is not None
            line = TextLine(page.path, text=page.texts[number])
            self.words += recognition.count(line, region.reading)
            if mistake := recognition.mistake(line, region.reading):
                misread.append(mistake)
        return misread

    def total(self, boxes: Counts, world: World) -> EndToEnd:
        """The scores of all ranks; `boxes` are counted on all ranks. Every rank must call it."""
        assert isinstance(boxes, BoxCounts)
        return EndToEnd(boxes, WordCounts.from_array(world.all_reduce(self.words.to_array())))
