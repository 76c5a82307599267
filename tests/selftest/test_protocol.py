"""Messages of ranks are untrusted until they are parsed."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.selftest.protocol import Event, Result, Timing, encode, event_of, text_of

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=8,
)
GOOD = {
    "rank": 0,
    "event": "result",
    "step": 2,
    "timings": [{"size": 4, "seconds": 0.5, "fast": 0.25, "is_wrong": False}],
    "values": [1, 2.5],
    "problem": "a\nb",
}


def test_a_result_is_parsed() -> None:
    result = Result((Timing(4, 0.5, 0.25, is_wrong=False),), (1.0, 2.5), "a b")
    assert event_of(encode(GOOD)) == Event(0, "result", step=2, result=result)


@given(st.sampled_from(sorted(GOOD)), JSON)
def test_any_value_of_a_rank_gives_an_event_within_limits(key: str, value: Any) -> None:
    event = event_of(encode({**GOOD, key: value}))
    if event and event.result:
        assert all(0 < timing.seconds < 1e12 for timing in event.result.timings)
        assert len(event.result.problem) <= 300


@given(JSON)
def test_any_state_is_parsed(value: Any) -> None:
    event = event_of(encode({"rank": 0, "event": "state", "stopped": value}))
    assert event is not None
    assert 0 <= event.stopped <= 1


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), 10**400, 5e-324, 1e-10, True, "1", None])
def test_an_invalid_time_is_refused(seconds: object) -> None:
    event = event_of(encode({**GOOD, "timings": [{"size": 4, "seconds": seconds, "fast": 1, "is_wrong": False}]}))
    assert event is not None
    assert event.result is not None
    assert "cannot be read" in event.result.problem


@given(JSON)
def test_texts_are_reduced_to_one_short_line(value: Any) -> None:
    assert len(text_of(value)) <= 300
    assert "\n" not in text_of(value)


def test_what_is_not_of_the_form_is_left_out() -> None:
    rows: dict[Event, dict[str, Any]] = {
        Event(0, "ready", ("all_to_all",)): {"event": "ready", "skipped": ["all_to_all", "nonsense", 3]},
        Event(0, "ready"): {"event": "ready", "skipped": 3},
        Event(0, "put", key="k", value="v", to=(1, 9)): {"event": "put", "key": "k", "value": "v", "to": [1, None, 9]},
        Event(0, "put"): {"event": "put", "key": 3, "value": [], "to": "x"},
        Event(0): {"event": ["unknown"]},
    }
    for event, fields in rows.items():
        assert event_of(encode({"rank": 0, **fields})) == event
    assert event_of(encode({"rank": True, "event": "alive"})) is None
