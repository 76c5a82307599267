"""The published files in onnxruntime: our program agrees with rapidocr, and pages share the cores."""

from __future__ import annotations

from functools import partial
from typing import Any

import cv2
import numpy as np
import pytest

from hccl_kit.ocr import rapidocr
from hccl_kit.ocr.data.loader import prefetch
from hccl_kit.ocr.reader import engine
from tests.ocr.reader.test_engine import page

pytest.importorskip("onnxruntime")
pytest.importorskip("rapidocr", exc_type=ImportError)
from hccl_kit.ocr.reader import sessions


def test_the_dictionary_matches_the_file() -> None:
    assert sessions.published(1).charset.characters == "".join(rapidocr.characters("rapidocr:rec")) + " "


def test_pages_read_simultaneously_have_the_same_result_as_alone() -> None:
    images = [page(word, "reads pages") for word in ("training", "receipts", "12.50 TOTAL", "a page")]
    alone = [engine.read(sessions.published(1), image) for image in images]
    networks = sessions.published(len(images))._replace(at_once=3)
    together = list(prefetch(images, partial(engine.read, networks), networks.at_once))
    assert [[text.reading.text for text in one] for one in together] == [
        [text.reading.text for text in one] for one in alone
    ]
    for one, other in zip(together, alone, strict=True):
        for text, expected in zip(one, other, strict=True):
            assert np.abs(text.points - expected.points).max() <= 1
            assert text.reading.confidence == pytest.approx(expected.reading.confidence, abs=1e-3)


def test_the_program_agrees_with_rapidocr() -> None:
    """With the same files in onnxruntime: a page with upside-down and tilted lines in columns, and a flat page."""
    package = pytest.importorskip("rapidocr", exc_type=ImportError)
    ours = sessions.published(1)
    theirs = package.RapidOCR(params={"Global.log_level": "error"})
    image = page("Fine tuning", "12.50   TOTAL", "reads pages", "a    bc      d")
    image[240:330] = image[240:330][::-1, ::-1]
    tilt = cv2.getRotationMatrix2D((300, 200), 4, 1)
    tilted = np.asarray(cv2.warpAffine(image, tilt, (600, 420), borderValue=(255, 255, 255)), np.uint8)
    for one in (tilted, page("A flat page")[40:100]):
        expected: Any = theirs(one)
        found = engine.read(ours, one)
        assert [text.reading.text for text in found] == list(expected.txts)
        assert np.abs(np.array([text.points for text in found]) - expected.boxes).max() <= 1
        assert [text.reading.confidence for text in found] == pytest.approx(expected.scores, abs=1e-3)
    assert "pages" in " ".join(text.reading.text for text in engine.read(ours, tilted))
