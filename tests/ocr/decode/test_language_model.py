"""The language model against its definition, and as a probability distribution."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.ocr.decode.language_model import EDGE, LanguageModel, lowest_likeness

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
