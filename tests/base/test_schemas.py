from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from hccl_kit.base.schemas import Mismatch, load, loads, mismatch, object_in


def test_the_first_mismatch_is_named_by_its_place_and_reason() -> None:
    document = {"version": 1, "devices": []}
    assert mismatch(document, "preflight_report") == Mismatch("", "'table' is a required property")
    rule = {"rule": "HK1", "reason": "x"}
    server = {"server": "", "machine": "", "ok": True, "error": None, "findings": [], "checked": [], "skipped": [rule]}
    found = mismatch({**server, "facts": {}, "variables": {}, "clock": 0}, "preflight_report", "server")
    assert found == Mismatch(
        "skipped/0/rule", f"'HK1' does not match '{load('preflight_report')['$defs']['rule']['pattern']}'"
    )
    assert mismatch("HK601", "preflight_report", "rule") is None


names = st.text(max_size=3) | st.just("n" * 201)
values = st.text(max_size=3) | st.just("v" * 4001) | st.none() | st.integers() | st.lists(st.text(), max_size=1)
facts = st.dictionaries(names, values, max_size=4)


@given(facts, st.dictionaries(st.sampled_from(["0", "1", "12.1", "x"]), facts | values, max_size=3))
def test_texts_are_judged_in_one_loop_as_by_the_library(packages: dict[str, Any], cards: dict[str, Any]) -> None:
    machine = {"host": "", "versions": {}, "cards": cards, "variables": {}, "settings": {}, "packages": packages}
    schema = load("snapshot")
    usual = Draft202012Validator({"$ref": "#/$defs/machine", "$defs": schema["$defs"]})
    expected = next(usual.iter_errors(machine), None)
    found = mismatch(machine, "snapshot", "machine")
    assert found == (expected and Mismatch("/".join(map(str, expected.absolute_path)), expected.message[:200]))


def test_a_reason_is_cut() -> None:
    found = mismatch({"version": "x" * 9999}, "watch")
    assert found is not None
    assert len(found.reason) <= 200


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("NaN", "NaN is not a number of JSON"),
        ("[-Infinity]", "-Infinity is not a number of JSON"),
        ("[" * 100_000, "recursion"),
        (b"\xff", "decode"),
        ("{", "Expecting property name"),
    ],
)
def test_what_is_not_json_is_refused(text: str | bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        loads(text)


@pytest.mark.parametrize(
    ("text", "expected"), [('{"a": NaN}', ["a"]), (b"{", None), (b"\xff", None), ("[1]", None), ("[" * 99_999, None)]
)
def test_an_object_is_read_from_any_text(text: str | bytes, expected: list[str] | None) -> None:
    value = object_in(text)
    assert value == expected if value is None else [*value] == expected
