"""A page is read with fakes of the networks."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from hccl_kit.ocr.charset import Charset
from hccl_kit.ocr.decode.boxes import Box
from hccl_kit.ocr.reader import engine
from hccl_kit.ocr.reader.page import Image, in_reading_order

Array = NDArray[np.float32]
CHARSET = Charset("ab ")


def page(*words: str) -> Image:
    """A white page with a word in each row."""
    image = np.full((60 + 90 * len(words), 600, 3), 255, np.uint8)
    for number, word in enumerate(words):
        cv2.putText(image, word, (40, 90 + 90 * number), cv2.FONT_HERSHEY_SIMPLEX, 1.6, (0, 0, 0), 3, cv2.LINE_AA)
    return image


def dark(images: Array) -> Array:
    """A detector that finds dark areas as text, with a margin at the sides."""
    mask = cv2.dilate((images[0].mean(axis=0) < 0.5).astype(np.uint8), np.ones((9, 41), np.uint8))
    return mask[None, None].astype(np.float32) * 0.8


def says(text: str, sure: float = 0.9) -> engine.Run:
    """A recogniser that always returns `text`."""

    def run(images: Array) -> Array:
        output = np.full((len(images), 2 * len(text) + 1, 4), 0.01, np.float32)
        output[:, ::2, CHARSET.blank] = 0.97
        for place, character in enumerate(text):
            output[:, 2 * place + 1, CHARSET.encode(character, lower=False)[0]] = sure
        return output

    return run


def upright(images: Array) -> Array:
    return np.tile(np.array([[0.95, 0.05]], np.float32), (len(images), 1))


def networks(recognise: engine.Run, direct: engine.Run = upright) -> engine.Networks:
    return engine.Networks(dark, direct, recognise, CHARSET)


def test_texts_have_positions_in_image_coordinates_for_any_size() -> None:
    image = page("word", "line")
    for size in ((600, 240), (2400, 960), (300, 120)):
        found = engine.read(networks(says("ab b")), np.asarray(cv2.resize(image, size), np.uint8))
        assert [text.reading.text for text in found] == ["ab b", "ab b"]
        assert found[0].reading.confidence == pytest.approx(0.9)
        assert 0.5 <= found[0].score <= 0.81
        centres = [text.points.mean(axis=0) * 600 / size[0] for text in found]
        assert [centre[1] for centre in centres] == pytest.approx([75, 165], abs=15)


def test_uncertain_and_blank_texts_are_dropped() -> None:
    assert engine.read(networks(says("ab", 0.49)), page("word")) == []
    assert engine.read(networks(says(" ")), page("word")) == []
    assert engine.read(networks(says("ab")), page("")) == []


def test_upside_down_lines_are_rotated() -> None:
    """Only if the classifier is more than 90 % certain."""
    line = np.zeros((48, 96, 3), np.uint8)
    line[:, :48] = 255
    seen = []
    for share in (0.89, 0.91):
        turned = engine.upright(lambda images, share=share: np.tile([[1 - share, share]], (len(images), 1)), [line])  # type: ignore[misc]
        seen.append(bool((turned[0] == line).all()))
        assert (turned[0] == line[::-1, ::-1]).all() == (share > 0.9)
    assert seen == [True, False]


def test_reading_order_groups_rows_of_ten_pixels() -> None:
    boxes = [Box(np.array([[x, y], [x + 9, y], [x + 9, y + 9], [x, y + 9]], np.float32), 1.0)
             for x, y in ((200, 0), (100, 9), (0, 18), (50, 28))]  # fmt: skip
    found = in_reading_order(boxes[::-1])
    assert [box.points[0].tolist() for box in found] == [[0, 18], [100, 9], [200, 0], [50, 28]]
    assert in_reading_order([]) == []
