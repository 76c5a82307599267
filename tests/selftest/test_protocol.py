"""Messages of ranks are untrusted until they are parsed."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.selftest.protocol import Result, Timing, decode, encode, result_of, skipped_of, stopped_of, text_of

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=8,
)
GOOD = {
    "timings": [{"size": 4, "seconds": 0.5, "fast": 0.25, "wrong": False}],
    "values": [1, 2.5],
    "problem": "a\nb",
}


def test_a_result_is_parsed() -> None:
    assert result_of(GOOD) == Result((Timing(4, 0.5, 0.25, is_wrong=False),), (1.0, 2.5), "a b")


@given(st.sampled_from(sorted(GOOD)), JSON)
def test_any_value_in_a_result_gives_a_result(key: str, value: Any) -> None:
    found = result_of({**GOOD, key: value})
    assert all(0 < one.seconds < 1e12 for one in found.timings)
    assert len(found.problem) <= 300


@given(JSON)
def test_any_state_is_parsed(value: Any) -> None:
    assert 0 <= stopped_of({"stopped": value}) <= 1


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), 10**400, 5e-324, 1e-10, True, "1", None])
def test_an_invalid_time_is_refused(seconds: object) -> None:
    found = result_of({**GOOD, "timings": [{"size": 4, "seconds": seconds, "fast": 1, "wrong": False}]})
    assert "cannot be read" in found.problem


@given(st.binary(max_size=200))
def test_any_line_is_parsed_or_ignored(line: bytes) -> None:
    assert decode(line) is None or isinstance(decode(line), dict)


def test_deep_nesting_is_not_decoded() -> None:
    assert decode(b"[" * 100_000) is None


def test_messages_round_trip() -> None:
    line = encode(GOOD)
    assert line.count(b"\n") == 1
    assert decode(line) == GOOD


@given(JSON)
def test_texts_are_reduced_to_one_short_line(value: Any) -> None:
    assert len(text_of(value)) <= 300
    assert "\n" not in text_of(value)


def test_skipped_operators_are_parsed() -> None:
    assert skipped_of({"skipped": ["all_to_all", "nonsense", 3]}) == ("all_to_all",)
    assert skipped_of({"skipped": 3}) == ()
