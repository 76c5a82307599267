"""Attention decoding: texts end at the first EOS, and are empty without one."""

import json

import numpy as np
import pytest
from numpy.typing import NDArray

from hccl_kit.ocr.charset import Charset
from hccl_kit.ocr.decode.attention import decode
from hccl_kit.ocr.decode.reading import Reading
from tests.ocr.reference import REFERENCE

ABC = Charset("abc")


def outputs(tokens: str, sure: float = 0.5) -> NDArray[np.float32]:
    """Probabilities (1, T, 5) whose most likely classes are `tokens`: '>' is BOS, '.' EOS."""
    chances = np.full((1, len(tokens), 5), (1 - sure) / 8, np.float32)
    for step, token in enumerate(tokens):
        chances[0, step, ">.abc".index(token)] = sure
    return chances


@pytest.mark.parametrize(
    ("tokens", "text"),
    [("ab.", "ab"), ("aa.bc", "aa"), (".abc", ""), ("abc", ""), ("", ""), ("a>b.", "a<go>b"), ("c..", "c")],
)
def test_a_text_ends_with_the_first_eos(tokens: str, text: str) -> None:
    assert [reading.text for reading in decode(outputs(tokens), ABC)] == [text]


def test_confidence_is_the_mean_up_to_the_eos() -> None:
    chances = outputs("ab.c")
    chances[0, 1, 3] = 0.9
    [reading] = decode(chances, ABC)
    assert reading.confidence == pytest.approx(0.7)
    assert decode(outputs("..."), ABC) == decode(outputs("abc"), ABC) == [Reading("", 0.0)]


def test_readings_match_the_reference() -> None:
    with (REFERENCE / "metrics_and_labels.json").open(encoding="utf-8") as file:
        expected = json.load(file)["attn_decode"]
    charset = Charset.load(None, use_space_char=False)
    paths = np.array(expected["argmax_paths"])
    n, t = np.indices(paths.shape)
    chances = np.full((*paths.shape, 38), 0.001, np.float32)
    np.put_along_axis(chances, paths[..., None], (0.5 + 0.05 * t + 0.01 * n)[..., None].astype(np.float32), 2)
    readings = decode(chances, charset)
    assert [reading.text for reading in readings] == expected["texts"]
    for reading, confidence in zip(readings, expected["confs"], strict=True):
        assert reading.confidence == pytest.approx(
            confidence or 0.0, rel=1e-6
        )  # the reference has no confidence for an empty text, we have 0
