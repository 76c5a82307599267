"""Beam search against the sum over all paths, and with a language model that resolves ambiguities."""

import math
from collections import defaultdict
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hccl_kit.ocr.charset import Charset
from hccl_kit.ocr.decode.beam import BeamSearch
from hccl_kit.ocr.decode.language_model import EDGE, LanguageModel
from hccl_kit.ocr.decode.reading import ctc_readings

AB = Charset("ab")
WORDS = Charset("cCaA0tTs")
MODEL = LanguageModel(["cat", "cats", "cat", "tat"], order=4)


def search(model: LanguageModel = MODEL, *, weight: float = 0.0, bonus: float = 0.0, width: int = 16) -> BeamSearch:
    return BeamSearch(model, weight, bonus, width)


def of(*steps: dict[str, float], charset: Charset = WORDS) -> NDArray[np.float32]:
    """Probabilities (1, T, classes) with these characters, "" for the blank."""
    made = np.zeros((1, len(steps), len(charset.characters) + 1), np.float32)
    for row, step in zip(made[0], steps, strict=True):
        for character, probability in step.items():
            row[charset.characters.index(character) if character else charset.blank] = probability
    return made


def sums(probabilities: NDArray[np.float32]) -> dict[str, float]:
    """The probability of each text of one line (T, 3): the sum over all paths."""
    found: dict[str, float] = defaultdict(float)
    for path in product(range(3), repeat=len(probabilities)):
        kept = [one for one, before in zip(path, (None, *path), strict=False) if one != before]
        text = "".join("ab"[one] for one in kept if one != AB.blank)
        found[text] += math.prod(float(row[one]) for row, one in zip(probabilities, path, strict=True))
    return found


@given(st.integers(1, 5), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.5]))
def test_a_wide_beam_finds_the_text_with_the_best_score(steps: int, seed: int, weight: float) -> None:
    drawn = np.random.default_rng(seed).dirichlet([1.0] * 3, steps) * 0.97 + 0.01  # no pruning of unlikely extensions
    model = LanguageModel(["ab", "aab", "ba"], order=3)

    def score(text: str, probability: float) -> float:
        logs = sum(model.log_probability(letter, text[:end]) for end, letter in enumerate(text + EDGE))
        return math.log(probability) + weight * logs + 0.3 * len(text)

    scores = {text: score(text, probability) for text, probability in sums(drawn.astype(np.float32)).items()}
    [read] = search(model, weight=weight, bonus=0.3, width=1000).decode(drawn.astype(np.float32)[None], AB)
    assert scores[read.text] == pytest.approx(max(scores.values()), abs=1e-6)


@given(st.lists(st.sampled_from("cat-s"), min_size=1, max_size=8))
def test_with_certain_outputs_it_equals_best_path_decoding(path: list[str]) -> None:
    certain = of(*({"" if character == "-" else character: 1.0} for character in path))
    assert search(weight=0.25, bonus=0.75).decode(certain, WORDS) == ctc_readings(certain, WORDS)


def test_the_language_model_resolves_ambiguities() -> None:
    blurred = of({"c": 1.0}, {"0": 0.6, "a": 0.4}, {"t": 1.0})
    assert ctc_readings(blurred, WORDS)[0].text == "c0t"
    [read] = search(weight=0.5).decode(blurred, WORDS)
    assert read.text == "cat"
    assert read.confidence == pytest.approx((1 + 0.4 + 1) / 3)


def test_a_line_that_is_unlike_the_texts_is_read_by_the_network_alone() -> None:
    blurred = of({"c": 1.0}, {"0": 0.6, "a": 0.4}, {"t": 1.0})
    likeness = MODEL.likeness("c0t")
    for lowest, text in ((likeness - 0.1, "cat"), (likeness + 0.1, "c0t")):
        limited = BeamSearch(MODEL, weight=0.5, bonus=0.0, width=16, lowest=lowest)
        assert limited.decode(blurred, WORDS)[0].text == text


def test_the_case_is_determined_by_the_network() -> None:
    [read] = search(weight=0.5).decode(of({"C": 0.9, "c": 0.1}, {"0": 0.6, "A": 0.4}, {"T": 1.0}), WORDS)
    assert read.text == "CAT"


def test_a_character_unknown_to_the_language_model_has_score_0() -> None:
    blurred = of({"c": 1.0}, {"0": 0.5, "": 0.5}, {"t": 1.0}, {"s": 0.6, "0": 0.4})
    assert search(weight=0.25, bonus=0.75).decode(blurred, WORDS)[0].text == "c0ts"


def test_the_bonus_is_added_for_each_character() -> None:
    open_end = of({"c": 1.0}, {"a": 1.0}, {"t": 1.0}, {"": 0.6, "s": 0.4})
    assert search(bonus=0.0).decode(open_end, WORDS)[0].text == "cat"
    assert search(bonus=1.0).decode(open_end, WORDS)[0].text == "cats"


def test_a_narrow_beam_keeps_only_the_best_prefixes() -> None:
    faint = of(
        {"": 0.6, "a": 0.4}, {"": 0.6, "a": 0.4}
    )  # three paths of "a" together are more likely than the empty path
    assert search(width=2).decode(faint, WORDS)[0].text == "a"
    assert search(width=1).decode(faint, WORDS)[0].text == ""


def test_lines_are_decoded_independently() -> None:
    two = np.concatenate([of({"c": 1.0}, {"a": 1.0}), of({"": 1.0}, {"": 1.0})])
    assert [(one.text, one.confidence) for one in search(weight=0.25).decode(two, WORDS)] == [("ca", 1.0), ("", 0.0)]


def test_a_step_without_a_likely_class_uses_its_best_class() -> None:
    charset = Charset("".join(chr(0x4E00 + number) for number in range(5000)))
    flat = np.full((1, 2, 5001), 1 / 5001, np.float32)
    flat[0, :, 7] = 2 / 5001
    assert search().decode(flat, charset)[0].text == charset.characters[7]


def test_nan_outputs_cause_no_error() -> None:
    assert len(search().decode(np.full((1, 3, 9), np.nan, np.float32), WORDS)) == 1
