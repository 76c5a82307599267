"""Word counts: against the definition, and sums over any partition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.ocr.metrics.lines import WordCounts, compare, edit_distance, letters, unaltered

short = st.text("abc", max_size=6)
words = st.text("abAB 1", max_size=8)


def naive(one: str, other: str) -> int:
    """The literal definition of the Levenshtein distance."""
    if not one or not other:
        return len(one) + len(other)
    replaced = naive(one[1:], other[1:]) + (one[0] != other[0])
    return min(replaced, naive(one[1:], other) + 1, naive(one, other[1:]) + 1)


@given(short, short)
def test_edit_distance_matches_the_definition(one: str, other: str) -> None:
    assert edit_distance(one, other) == naive(one, other)


@given(st.text(), st.text(), st.text())
def test_edit_distance_is_a_metric(a: str, b: str, c: str) -> None:
    assert edit_distance(a, b) == edit_distance(b, a)
    assert (edit_distance(a, b) == 0) == (a == b)
    assert edit_distance(a, c) <= edit_distance(a, b) + edit_distance(b, c)


def total(pairs: list[tuple[str, str]]) -> WordCounts:
    counts = WordCounts()
    for read, truth in pairs:
        counts += compare(read, truth, lower=True, ignore_space=True)
    return counts


@given(st.lists(st.tuples(words, words)), st.integers(1, 5))
def test_counts_of_parts_add_up_to_those_of_the_whole(pairs: list[tuple[str, str]], ranks: int) -> None:
    whole = total(pairs)
    parts = [total(pairs[rank::ranks]) for rank in range(ranks)]
    joined = WordCounts.from_array(np.sum([part.to_array() for part in parts], axis=0))
    assert (joined.words, joined.right) == (whole.words, whole.right) == (len(pairs), whole.right)
    assert joined.similarity == pytest.approx(whole.similarity, rel=1e-5)
    assert joined.accuracy == pytest.approx(whole.accuracy)


@given(words, words, st.booleans(), st.booleans())
def test_counts_of_a_single_word(read: str, truth: str, lower: bool, ignore_space: bool) -> None:
    counts = compare(read, truth, lower=lower, ignore_space=ignore_space)
    assert counts.words == 1
    assert 0 <= counts.similarity <= 1
    assert (counts.right == 1) == (counts.similarity == 1)
    if read == truth:
        assert counts.right == 1


def test_case_and_spaces_are_compared_only_if_configured() -> None:
    assert compare("a B", "Ab", lower=True, ignore_space=True).right == 1
    assert compare("a b", "ab", lower=True, ignore_space=False).right == 0
    assert compare("aB", "ab", lower=False, ignore_space=True).right == 0
    assert compare("aB", "ab", lower=False, ignore_space=True).similarity == 0.5


@pytest.mark.parametrize(
    ("read", "label", "kinds", "edits"),
    [
        ("a B", "a B", {"exact", "without_spaces", "case_folded"}, 0),
        ("aB", "a B", {"without_spaces"}, 1),
        ("A b", "a B", {"case_folded"}, 2),
        ("", "a B", set(), 3),
    ],
)
def test_what_a_metric_may_ignore_is_counted_too(read: str, label: str, kinds: set[str], edits: int) -> None:
    """An accuracy that ignores case hid that a network had forgotten half of its letters."""
    counts = compare(read, label, lower=True, ignore_space=True) + unaltered(read, label)
    row = counts.row()
    assert {kind for kind in ("exact", "without_spaces", "case_folded") if row[kind]} == kinds
    assert row["character_error_rate"] == edits / 3
    assert row["standard_error"] == 0  # one word says nothing


def test_similarity_is_relative_to_the_longer_text() -> None:
    assert compare("abcd", "ab", lower=True, ignore_space=True).similarity == 0.5
    assert compare("", "", lower=True, ignore_space=True) == WordCounts(1, 1, 1)


def test_accuracy_and_edit_distance() -> None:
    counts = WordCounts(words=8, right=6, similarity=7)
    assert (counts.accuracy, counts.norm_edit_distance) == (0.75, 0.875)
    assert str(counts).startswith("6 of 8 words right (75.00%); standard error 15.31%, exact 0.00%, without spaces ")
    assert (WordCounts().accuracy, WordCounts().norm_edit_distance) == (0, 0)


def test_symbols_are_everything_except_letters_digits_and_chinese_characters() -> None:
    assert letters("a-B 9^!é中文。\u9fa6") == "aB9^中文"
