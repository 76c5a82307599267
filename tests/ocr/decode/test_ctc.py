"""Best path decoding, against the rule applied step by step."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hccl_kit.ocr.charset import Charset
from hccl_kit.ocr.decode.ctc import decode
from hccl_kit.ocr.decode.reading import Reading

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
def test_decode_matches_the_definition(steps: int, batch: int, seed: int) -> None:
    drawn = np.random.default_rng(seed).dirichlet([0.3] * 4, (batch, steps))
    probabilities = drawn.astype(np.float32)
    readings = decode(probabilities, ABC)
    assert len(readings) == batch
    for n, reading in enumerate(readings):
        expected = naive(probabilities[n])
        assert reading.text == expected.text
        assert reading.confidence == pytest.approx(expected.confidence, rel=1e-4)


@given(st.integers(0, 2**32 - 1))
def test_the_blank_may_be_the_first_class(seed: int) -> None:
    probabilities = np.random.default_rng(seed).dirichlet([0.3] * 4, (2, 9)).astype(np.float32)
    assert decode(np.roll(probabilities, 1, axis=2), ABC, blank_first=True) == decode(probabilities, ABC)


@pytest.mark.parametrize(
    ("classes", "text"),
    [("aab", "ab"), ("a-a", "aa"), ("-", ""), ("---", ""), ("--c--", "c"), ("abba", "aba"), ("a-ab-b", "aabb")],
)
def test_repeats_are_merged_and_blanks_dropped(classes: str, text: str) -> None:
    assert decode(path(classes), ABC)[0].text == text


def test_an_empty_text_has_confidence_0() -> None:
    assert decode(path("---"), ABC) == [Reading("", 0.0)]


def test_confidence_is_the_mean_over_the_characters_that_are_read() -> None:
    """Repeated steps and blanks do not count."""
    steps = [[0.7, 0.1, 0.1, 0.1], [0.4, 0.2, 0.2, 0.2], [0, 0, 0, 1], [0.1, 0.5, 0.2, 0.2]]
    [reading] = decode(np.array([steps], np.float32), ABC)
    assert reading.text == "ab"
    assert reading.confidence == pytest.approx(0.6, abs=1e-5)
