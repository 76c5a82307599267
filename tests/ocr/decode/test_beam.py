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
from hccl_kit.ocr.decode.beam import EDGE, BeamSearch, LanguageModel, lowest_likeness
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


LETTERS = "abc"


def test_it_uses_witten_bell_interpolation() -> None:
    model = LanguageModel(["ab", "ab", "ac"], order=2)
    # Unigrams: a 3, b 2, c 1, end 3; four distinct. After a: b twice, c once; two distinct.
    unigram_b = (2 + 4 * (1 / 4)) / (9 + 4)
    assert model.log_probability("b", "a") == pytest.approx(math.log((2 + 2 * unigram_b) / (3 + 2)))
    unigram_a = (3 + 4 * (1 / 4)) / (9 + 4)
    assert model.log_probability("a", "a") == pytest.approx(math.log((0 + 2 * unigram_a) / (3 + 2)))
    assert model.log_probability("b", "z") == pytest.approx(math.log(unigram_b))


@given(st.lists(st.text(LETTERS, max_size=6), min_size=1, max_size=8), st.integers(1, 4), st.text(LETTERS, max_size=6))
def test_the_probabilities_of_known_characters_add_up_to_one(texts: list[str], order: int, before: str) -> None:
    model = LanguageModel(texts, order=order)
    known = [character for character in LETTERS + EDGE if model.knows(character)]
    assert sum(math.exp(model.log_probability(character, before)) for character in known) == pytest.approx(1)


def test_it_contains_the_characters_of_its_texts() -> None:
    model = LanguageModel(["aB"], order=2)
    assert [model.knows(character) for character in "aAbBc"] == [True] * 4 + [False]
    assert not LanguageModel([], order=2).knows(EDGE)


def test_only_the_last_characters_are_used_as_context() -> None:
    model = LanguageModel(["abcabc"], order=3)
    assert model.log_probability("c", "ab") == model.log_probability("c", "ccccab")


def test_the_beginning_of_a_text_is_a_context() -> None:
    model = LanguageModel(["ab", "ac", "ba"], order=3)
    assert model.log_probability("a", "") > model.log_probability("b", "")


def test_case_is_ignored() -> None:
    model = LanguageModel(["Total", "TOTAL"], order=3)
    assert model.log_probability("T", "to") == model.log_probability("t", "TO")


def test_texts_of_its_kind_are_more_like_it_than_others() -> None:
    model = LanguageModel(["total 12.50", "total 7.20", "change 3.00"], order=4)
    likenesses = [model.likeness(text) for text in ("total 9.00", "latot", "Haus", "水")]
    assert likenesses == sorted(likenesses, reverse=True)
    assert model.likeness("") == 0.0


def test_the_limit_leaves_out_one_unseen_text_of_twenty() -> None:
    """The unseen texts are each fifth: five of 100 are of another kind."""
    texts = [f"total {number}.00" for number in range(500)]
    texts[:25:5] = ["qqqqq"] * 5
    limit = lowest_likeness(texts, order=3)
    model = LanguageModel([text for number, text in enumerate(texts) if number % 5], order=3)
    assert model.likeness("qqqqq") < limit <= min(model.likeness(text) for text in texts[25::5])


def test_few_texts_leave_out_nothing() -> None:
    assert lowest_likeness(["a"] * 95, order=3) == -math.inf
    assert lowest_likeness(["a"] * 100, order=3) > -1
