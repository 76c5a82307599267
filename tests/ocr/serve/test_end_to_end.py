"""A detector and a recogniser scored together: what is counted of a page, and the shares that follow."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from hccl_kit.ocr import config
from hccl_kit.ocr.data.pages.pages import Page, checked_page
from hccl_kit.ocr.data.samples import TextLine
from hccl_kit.ocr.decode.boxes import Box
from hccl_kit.ocr.decode.reading import Reading
from hccl_kit.ocr.infer.inference import Inference, Prediction
from hccl_kit.ocr.metrics.boxes import BoxCounts
from hccl_kit.ocr.metrics.lines import WordCounts
from hccl_kit.ocr.serve.end_to_end import EndToEnd, PageReader
from hccl_kit.ocr.tasks import recipes
from hccl_kit.ocr.tasks.detection import Detection
from tests.ocr.data.images import write_png
from tests.ocr.run_tool import CONFIG
from tests.places import ROOT

DETECTOR = config.load(ROOT / "configs/det/ppocr/v6_small_finetune.yaml")


class ReadsAlways:
    """An inference whose network reads the given texts, one for each line, in order."""

    def __init__(self, *texts: str) -> None:
        self.task = recipes.task(config.load(CONFIG))
        self.texts = texts

    def batches(self, network: object, samples: Sequence[TextLine]) -> Iterator[list[Prediction]]:
        del network
        for number, (sample, text) in enumerate(zip(samples, self.texts, strict=True)):
            yield [Prediction(number, sample, Reading(text, 0.9))]


def corners(left: float) -> list[list[float]]:
    """Those of a text 40 pixels wide."""
    return [[left, 10], [left + 40, 10], [left + 40, 30], [left, 30]]


def box(left: float) -> Box:
    return Box(np.array(corners(left), np.float32), 1.0)


@pytest.fixture
def page(tmp_path: Path) -> Page:
    write_png(tmp_path / "page.png", np.zeros((60, 260, 3), np.uint8))
    texts = ("total", "cash", "###", "missed")
    return checked_page(tmp_path / "page.png", [(text, corners(60 * n)) for n, text in enumerate(texts)])


def reader_of(*texts: str) -> PageReader:
    task = recipes.task(DETECTOR)
    assert isinstance(task, Detection)
    return PageReader(DETECTOR, task, (cast("Inference", ReadsAlways(*texts)), cast("Any", None)), None)


def test_each_found_text_is_read_in_the_box_that_finds_it(page: Page) -> None:
    """The boxes are in another order than the labels; one of them is on an illegible text, one finds nothing."""
    reader = reader_of("total", "cosh")
    mistakes = reader.read(page, [box(60), box(200), box(120), box(0)])
    assert mistakes == [f"{page.path}\tcash\tcosh"]
    assert (reader.words.words, reader.words.right) == (2, 1)


def test_a_page_without_a_found_text_counts_no_word(page: Page) -> None:
    reader = reader_of()
    assert reader.read(page, [box(200)]) == []
    assert reader.words == WordCounts()


def test_a_text_must_be_found_and_read_right() -> None:
    total = EndToEnd(BoxCounts(texts=10, found=8, false=2), WordCounts(words=8, right=6))
    scores = total.row()["end_to_end"]
    assert scores == {"recall": 0.6, "precision": 0.6, "f-score": 0.6}
    assert "end to end: 6 of 10 texts are found and read right, h-mean 60.00%" in str(total)
    assert EndToEnd(BoxCounts(), WordCounts()).row()["end_to_end"] == dict.fromkeys(scores, 0.0)
