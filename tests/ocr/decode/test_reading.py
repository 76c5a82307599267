"""Greedy readings of CTC, against the rule applied step by step, and of attention: up to the first EOS."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hccl_kit.ocr.charset import Charset
from hccl_kit.ocr.decode.reading import Reading, attention_readings, ctc_readings
from tests.ocr.reference import REFERENCE

ABC = Charset("abc")


def naive(probabilities: NDArray[np.float32]) -> Reading:
    """One sample, probabilities (T, 4)."""
    text, sure, before = "", [], None
    for step in probabilities.tolist():
        best = max(range(4), key=lambda number: step[number])
        if best not in (before, ABC.blank):
            text += "abc"[best]
            sure.append(step[best])
        before = best
    return Reading(text, sum(sure) / len(sure) if sure else 0.0)


def path(classes: str) -> NDArray[np.float32]:
    """Probabilities (1, T, 4) whose best path is `classes`, '-' for the blank."""
    return np.eye(4, dtype=np.float32)[["abc-".index(c) for c in classes]][None]


@given(st.integers(1, 12), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_readings_match_the_definition(steps: int, batch: int, seed: int) -> None:
    drawn = np.random.default_rng(seed).dirichlet([0.3] * 4, (batch, steps))
    probabilities = drawn.astype(np.float32)
    readings = ctc_readings(probabilities, ABC)
    assert len(readings) == batch
    for n, reading in enumerate(readings):
        expected = naive(probabilities[n])
        assert reading.text == expected.text
        assert reading.confidence == pytest.approx(expected.confidence, rel=1e-4)


@given(st.integers(0, 2**32 - 1))
def test_the_blank_may_be_the_first_class(seed: int) -> None:
    probabilities = np.random.default_rng(seed).dirichlet([0.3] * 4, (2, 9)).astype(np.float32)
    assert ctc_readings(np.roll(probabilities, 1, axis=2), ABC, blank_first=True) == ctc_readings(probabilities, ABC)


@pytest.mark.parametrize(
    ("classes", "text"),
    [("aab", "ab"), ("a-a", "aa"), ("-", ""), ("---", ""), ("--c--", "c"), ("abba", "aba"), ("a-ab-b", "aabb")],
)
def test_repeats_are_merged_and_blanks_dropped(classes: str, text: str) -> None:
    assert ctc_readings(path(classes), ABC)[0].text == text


def test_an_empty_text_has_confidence_0() -> None:
    assert ctc_readings(path("---"), ABC) == [Reading("", 0.0)]


def test_confidence_is_the_mean_over_the_characters_that_are_read() -> None:
    """Repeated steps and blanks do not count."""
    steps = [[0.7, 0.1, 0.1, 0.1], [0.4, 0.2, 0.2, 0.2], [0, 0, 0, 1], [0.1, 0.5, 0.2, 0.2]]
    [reading] = ctc_readings(np.array([steps], np.float32), ABC)
    assert reading.text == "ab"
    assert reading.confidence == pytest.approx(0.6, abs=1e-5)


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
    assert [reading.text for reading in attention_readings(outputs(tokens), ABC)] == [text]


def test_confidence_is_the_mean_up_to_the_eos() -> None:
    chances = outputs("ab.c")
    chances[0, 1, 3] = 0.9
    [reading] = attention_readings(chances, ABC)
    assert reading.confidence == pytest.approx(0.7)
    assert attention_readings(outputs("..."), ABC) == attention_readings(outputs("abc"), ABC) == [Reading("", 0.0)]


def test_readings_match_the_reference() -> None:
    with (REFERENCE / "metrics_and_labels.json").open(encoding="utf-8") as file:
        expected = json.load(file)["attn_decode"]
    charset = Charset.load(None, use_space_char=False)
    paths = np.array(expected["argmax_paths"])
    n, t = np.indices(paths.shape)
    chances = np.full((*paths.shape, 38), 0.001, np.float32)
    np.put_along_axis(chances, paths[..., None], (0.5 + 0.05 * t + 0.01 * n)[..., None].astype(np.float32), 2)
    readings = attention_readings(chances, charset)
    assert [reading.text for reading in readings] == expected["texts"]
    for reading, confidence in zip(readings, expected["confs"], strict=True):
        assert reading.confidence == pytest.approx(
            confidence or 0.0, rel=1e-6
        )  # the reference has no confidence for an empty text, we have 0
